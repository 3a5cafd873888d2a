import { describeError } from "../platform/describe-error.ts";
import { readJobContent } from "./sql/read-job-documents.ts";
import { releaseJobs } from "./sql/release-jobs.ts";
import type { Pause } from "./sql/pause-dispatching.ts";
import type { UndispatchedJob } from "./sql/claim-due-jobs.ts";
import { dispatchBytes } from "../platform/memory.ts";
import { dispatchUnlessPaused } from "./dispatch-unless-paused.ts";
import type { PollerContext } from "./poller-context.ts";
import type { RunBudget } from "./run-budget.ts";

/** Fewer than the available connections, so that submits that take a minute do not block polls. */
const MAX_DISPATCHES_AT_ONCE = 4;
/** Removes canceled and paused documents, reads the texts, starts a dispatch and settles a refusal. */
const DISPATCH_STATEMENTS = 30;

export interface DispatchingResult {
  readonly failed: number;
  readonly left: number;
  /** Whether the submit rate of a model is reached. */
  readonly isOverRate: boolean;
}

/**
 * Dispatches claimed jobs that `pauses` do not cover, interactive ones first, and updates `pauses`. A job is left to
 * another run and made due now if it cannot start within its lease, if the submit rate is reached, or if no budget or
 * memory is left. A failure affects only its job, which is due again when its lease ends.
 */
export async function dispatchJobs(
  context: PollerContext,
  jobs: readonly UndispatchedJob[],
  budget: RunBudget,
  leaseUntil: number,
  pauses: Pause[],
): Promise<DispatchingResult> {
  const order = jobs.toSorted((a, b) => Number(a.lane === "bulk") - Number(b.lane === "bulk"));
  const running = new Set<Promise<void>>();
  let failed = 0;
  const rate = { isOver: false };
  const dispatch = async (job: UndispatchedJob): Promise<void> => {
    try {
      // The texts are read before the dispatch starts. The dispatch's list leaves out documents that are deleted in
      // between.
      const outcome = await dispatchUnlessPaused(context, job, () => readJobContent(context.db, job), pauses);
      if (outcome === "over_rate") rate.isOver = true;
    } catch (error) {
      failed += 1;
      const { id, dispatchNumber: dispatch, status } = job;
      context.log({ event: "job_broke_off", job: id, dispatch, status, ...describeError(error) });
    }
  };
  let next = 0;
  for (let job = order[next]; job !== undefined && !rate.isOver && context.now() < leaseUntil; job = order[next]) {
    if (running.size >= MAX_DISPATCHES_AT_ONCE) {
      await Promise.race(running);
      continue;
    }
    const disconnect = await budget.connect();
    const unreserve = budget.reserve(DISPATCH_STATEMENTS);
    const release = unreserve === null ? null : context.memory.hold(dispatchBytes(job.payloadBytes), context.now());
    if (unreserve === null || release === null) {
      unreserve?.();
      disconnect();
      if (running.size === 0) break;
      await Promise.race(running);
      continue;
    }
    next += 1;
    const task = dispatch(job).finally(() => {
      running.delete(task);
      release();
      unreserve();
      disconnect();
    });
    running.add(task);
  }
  await Promise.all(running);
  const left = order.slice(next);
  // Once their lease has expired, they belong to another run.
  if (left.length > 0 && context.now() < leaseUntil) {
    context.log({ event: "dispatches_left", jobs: left.length });
    await releaseJobs(context.db, left, context.now());
  }
  return { failed, left: left.length, isOverRate: rate.isOver };
}
