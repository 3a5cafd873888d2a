import { dispatchUnlessPaused } from "../job/dispatch-unless-paused.ts";
import { readPauses, type Pause } from "../job/sql/pause-dispatching.ts";
import { releaseJobs } from "../job/sql/release-jobs.ts";
import type { Context } from "../platform/context.ts";
import { describeError } from "../platform/describe-error.ts";
import { dispatchBytes } from "../platform/memory.ts";
import type { RecordedJob } from "./record-job.ts";

/**
 * Milliseconds after which a delivery dispatches no further job. Together with the time of a call, less than the lease.
 */
const MAX_DISPATCHING_MS = 45_000;

/**
 * Dispatches recorded jobs one after another, unless they are paused. Jobs are left to the poller and made due now if
 * they are not reached within 45 s, do not fit in memory beside other deliveries, or follow one over the submit rate. A
 * failure affects only its job: once recorded, D1 drives the retries.
 */
export async function dispatchRecorded(context: Context, jobs: readonly RecordedJob[]): Promise<void> {
  const startedAt = context.now();
  let pauses: Pause[] | null = null;
  for (const [index, { id, model, payloadBytes, readContent }] of jobs.entries()) {
    const isLate = context.now() - startedAt >= MAX_DISPATCHING_MS;
    const release = isLate ? null : context.memory.hold(dispatchBytes(payloadBytes), context.now());
    try {
      if (release === null) return await leaveToPoller(context, jobs.slice(index));
      pauses ??= await readPauses(context.db, context.now());
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
      const outcome = await dispatchUnlessPaused(context, pending, readContent, pauses);
      // The poller merges the others with other waiting jobs.
      if (outcome === "over_rate") return await leaveToPoller(context, jobs.slice(index + 1));
    } catch (error) {
      // Once its lease has expired, the poller takes over.
      context.log({ event: "dispatch_broke_off", job: id, ...describeError(error) });
    } finally {
      release?.();
    }
  }
}

async function leaveToPoller(context: Context, jobs: readonly RecordedJob[]): Promise<void> {
  context.log({ event: "dispatching_left_to_poller", jobs: jobs.length });
  const left = jobs.map(({ id }) => ({ id, dispatchNumber: 0, status: "pending" }) as const);
  await releaseJobs(context.db, left, context.now());
}
