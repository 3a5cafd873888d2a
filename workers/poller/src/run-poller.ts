import { dispatchLease, isSweepDue, nextPollAt } from "@sluice/core";
import {
  claimDueJobs,
  describeError,
  readJobContent,
  readPauses,
  timeAfter,
  type ClaimedJob,
  type Pause,
} from "@sluice/db";
import { dispatchUnlessPaused, holdPaused, withDatabaseClock, type StepIo } from "@sluice/dispatch";
import { continueRetries } from "./continue-retries.ts";
import { lookAfterSubmissions } from "./look-after-submissions.ts";
import { pollJob } from "./poll-job.ts";
import { runWithin } from "./run-within.ts";

export interface PollerIo extends StepIo {
  /** Milliseconds without an answer after which a batch is dispatched again. */
  readonly stuckAfter: number;
}

/** Jobs that one run takes on. One whose batch is still under way costs a call to Workers AI and no query. */
export const MAX_POLLS_PER_RUN = 300;
/**
 * Jobs that one run carries a step further, at up to fifteen statements each, where a paused submission is
 * taken out of them; a sweep makes some fifty more. An invocation may make 1,000 queries, and it is not
 * written whether a transaction's statements count one by one: here they do.
 */
export const MAX_STEPS_PER_RUN = 60;
/** Jobs that one claim takes at most: two thirds interactive, and a share for bulk, so that it is never starved. */
const MAX_CLAIM = 30;
/** A run stops taking on more after this many milliseconds: the next one is about to start. */
const MAX_RUN = 45_000;
const MAX_AT_ONCE = 6;
/** Bytes of texts and answers that are in memory at once, of a Worker's 128 MB. */
const MAX_BYTES_AT_ONCE = 40_000_000;
/** An answer's context: its JSON, its parse, and its entry in an outcome. */
const ANSWER_CONTEXT_BYTES = 250;
/** A payload is held as rows, as requests, and as JSON on its way. */
const PAYLOAD_COPIES = 4;

/**
 * Works through the jobs that are due until none is left, or the run has had its share. Claims are made by D1's
 * own clock; a run that found something to do reads it before it does any of it.
 */
export async function runPoller(isolate: PollerIo): Promise<void> {
  const startedAt = isolate.now();
  let io = isolate;
  let claimed = 0;
  let isFirst = true;
  const count: Record<Advance, number> = { waits: 0, moved: 0, failed: 0 };
  for (;;) {
    const now = io.databaseTime();
    const left = Math.min(MAX_CLAIM, MAX_POLLS_PER_RUN - claimed, MAX_STEPS_PER_RUN - (claimed - count.waits));
    if (left <= 0 || isolate.now() - startedAt >= MAX_RUN) break;
    const bulk = Math.ceil(left / 3);
    const jobs = await claimDueJobs(
      io.db,
      {
        interactive: left - bulk,
        bulk,
        dispatchLeaseUntil: timeAfter(now, dispatchLease(io.runInterval)),
        nextPollAt: timeAfter(now, nextPollAt(0, 0, io.runInterval)),
      },
      now,
      isFirst ? { pausesEndedBy: timeAfter(now, -io.runInterval) } : null,
    );
    isFirst = false;
    if (jobs.length === 0) break;
    if (io === isolate) io = await withDatabaseClock(isolate);
    const waits = jobs.some((job) => job.status !== "dispatched");
    const pauses = waits ? await readPauses(io.db, io.now()) : [];
    const free = pauses.length > 0 ? await holdPaused(io, jobs, pauses) : jobs;
    claimed += free.length;
    const order = free.toSorted((a, b) => Number(a.lane === "bulk") - Number(b.lane === "bulk"));
    await runWithin(
      order.map((job) => ({
        weight: weighJob(job),
        run: async () => {
          count[await advanceJob(io, job, pauses)] += 1;
        },
      })),
      { atOnce: MAX_AT_ONCE, weight: MAX_BYTES_AT_ONCE },
    );
  }
  const isSweep = isSweepDue(startedAt, io.runInterval);
  // A retry queues jobs, so a run that found none has none to carry on, unless its request broke off: a sweep finds it.
  if (claimed > 0 || isSweep) {
    if (io === isolate) io = await withDatabaseClock(isolate);
    await continueRetries(io);
    if (isSweep) await lookAfterSubmissions(io);
  }
  if (claimed > 0)
    io.log({ event: "poller_run", jobs: claimed, failed: count.failed, milliseconds: isolate.now() - startedAt });
}

function weighJob(job: ClaimedJob): number {
  return job.status === "dispatched" ? job.contexts * ANSWER_CONTEXT_BYTES : job.payloadBytes * PAYLOAD_COPIES;
}

/** What became of a job: its batch is still under way, it is a step further, or the step broke off. */
type Advance = "waits" | "moved" | "failed";

/**
 * One job a step further, where `pauses` allow it: those are kept up to date. A failure is its own: it
 * is logged, and the job is due again by its lease.
 */
async function advanceJob(io: PollerIo, job: ClaimedJob, pauses: Pause[]): Promise<Advance> {
  try {
    if (job.status === "dispatched") return await pollJob(io, job);
    // The texts are read before the attempt starts: what is deleted in between is left out by its list.
    await dispatchUnlessPaused(io, job, () => readJobContent(io.db, job), pauses);
    return "moved";
  } catch (error) {
    io.log({
      event: "job_broke_off",
      job: job.id,
      status: job.status,
      ...describeError(error),
    });
    return "failed";
  }
}
