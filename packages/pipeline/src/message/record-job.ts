import { dispatchLease } from "../job/schedule.ts";
import { mintJobId, type JobId, type ModelName } from "@sluice/core";
import { planJobs, type PartWeight } from "../job/job.ts";
import type { PartMessage } from "./message.ts";
import { describeError } from "../platform/describe-error.ts";
import { partToRecord } from "./part-to-record.ts";
import { readJobContent, type DocumentContent } from "../job/sql/read-job-documents.ts";
import { readPauses, type Pause } from "../job/sql/pause-dispatching.ts";
import { recordParts } from "./sql/record-parts.ts";
import { releaseJobs } from "../job/sql/release-jobs.ts";
import { chunkParts } from "./chunk-parts.ts";
import { dispatchUnlessPaused } from "../job/dispatch-unless-paused.ts";
import type { Context } from "../platform/context.ts";
import { dispatchBytes } from "../platform/memory.ts";

/** A part that was read and weighed. */
export interface PlannedPart {
  readonly part: PartMessage;
  readonly weight: PartWeight;
}

/** Staged parts that are in memory at once, each up to 1 MB: about a job's worth. */
export const STAGED_AT_ONCE = 9;

/** Plans the jobs of parts that came together: a job holds one model and lane. */
export function planRecording<Part extends PlannedPart>(parts: readonly Part[]): Part[][] {
  const groups = Map.groupBy(parts, ({ part }) => `${part.model} ${part.lane}`);
  return [...groups.values()].flatMap((group) => planJobs(group));
}

/** A job that this Worker recorded, and holds by its lease. */
export interface RecordedJob {
  readonly id: JobId;
  readonly model: ModelName;
  /** UTF-8 bytes of its requests. */
  readonly payloadBytes: number;
  /** Gives the texts of its documents. */
  readonly readContent: () => Promise<readonly DocumentContent[]>;
}

export interface Recorded {
  /** For each part whether it is recorded now, by this job or another. One that is not must come again. */
  readonly parts: readonly boolean[];
  readonly job: RecordedJob;
}

/**
 * Records the parts of one job, in as many transactions as its size asks for. `keepsContent`: the parts
 * stay in memory until the job is dispatched; otherwise its texts are read from D1 again.
 */
export async function recordJob(
  io: Context,
  parts: readonly [PlannedPart, ...PlannedPart[]],
  keepsContent: boolean,
): Promise<Recorded> {
  const { model, lane } = parts[0].part;
  const job = { id: mintJobId(io.now(), io.randomBytes(10)), model, lane };
  const recorded: boolean[] = [];
  for (const chunks of chunkParts(parts.map(({ part, weight }) => partToRecord(part, weight)))) {
    const now = io.now();
    recorded.push(
      ...(await recordParts(io.db, { ...job, leaseUntil: now + dispatchLease(io.runInterval) }, chunks, now)),
    );
  }
  const readContent = keepsContent
    ? async () => contentOf(parts)
    : () => readJobContent(io.db, { id: job.id, dispatchNumber: 0 });
  const payloadBytes = parts.reduce((sum, { weight }) => sum + weight.payloadBytes, 0);
  return { parts: recorded, job: { id: job.id, model, payloadBytes, readContent } };
}

/** Milliseconds after which no further job is dispatched in a delivery: together with a call, less than the lease. */
const MAX_DISPATCHING_MS = 45_000;

/**
 * Dispatches recorded jobs, one after another, unless they are paused. Those that are not reached in 45 s, those that
 * do not fit in memory beside other deliveries, and those behind one that is over the rate of submits are left to the
 * poller, and are due at once. A failure affects only the job: from recording on D1 drives.
 */
export async function dispatchRecorded(io: Context, jobs: readonly RecordedJob[]): Promise<void> {
  const startedAt = io.now();
  let pauses: Pause[] | null = null;
  for (const [index, { id, model, payloadBytes, readContent }] of jobs.entries()) {
    const isLate = io.now() - startedAt >= MAX_DISPATCHING_MS;
    const release = isLate ? null : io.memory.hold(dispatchBytes(payloadBytes), io.now());
    try {
      if (release === null) return await leaveToPoller(io, jobs.slice(index));
      pauses ??= await readPauses(io.db, io.now());
      const pending = {
        id,
        model,
        status: "pending",
        dispatchNumber: 0,
        round: 1,
        refusals: 0,
        batches: 0,
        halvings: 0,
      } as const;
      const outcome = await dispatchUnlessPaused(io, pending, readContent, pauses);
      // The poller merges the others with what else waits.
      if (outcome === "over_rate") return await leaveToPoller(io, jobs.slice(index + 1));
    } catch (error) {
      // Once its lease has run out the poller takes it from here.
      io.log({ event: "dispatch_broke_off", job: id, ...describeError(error) });
    } finally {
      release?.();
    }
  }
}

async function leaveToPoller(io: Context, jobs: readonly RecordedJob[]): Promise<void> {
  io.log({ event: "dispatching_left_to_poller", jobs: jobs.length });
  const left = jobs.map(({ id }) => ({ id, dispatchNumber: 0, status: "pending" }) as const);
  await releaseJobs(io.db, left, io.now());
}

function contentOf(parts: readonly PlannedPart[]): DocumentContent[] {
  return parts.flatMap(({ part }) =>
    part.documents.map((document) => ({
      submission: part.submission,
      document: document.id,
      place: document.place,
      query: document.query,
      contexts: document.contexts,
      truncateInputs: part.truncate_inputs,
    })),
  );
}
