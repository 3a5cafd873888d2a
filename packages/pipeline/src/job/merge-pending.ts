import { MAX_JOB_BYTES, MAX_JOB_CONTEXTS, type JobId, type Lane, type ModelName } from "@sluice/core";
import { planJobs, weighMembers, type PartWeight } from "./plan-jobs.ts";
import { describeError } from "../platform/describe-error.ts";
import { mergeJobs, weighMergeableJobs } from "./sql/merge-jobs.ts";
import type { Context } from "../platform/context.ts";

/** A claimed job that is to be dispatched. */
interface ClaimedJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly status: string;
  readonly dispatchNumber: number;
  readonly round: number;
  readonly batches: number;
  readonly halvings: number;
  readonly refusals: number;
  readonly contexts: number;
  readonly payloadBytes: number;
  readonly createdAt: number;
}

/**
 * Merges claimed jobs that were never dispatched into as few as fit, so that many small ones cost one batch. Merged
 * jobs have the same model, lane and round and the same numbers of batches and refusals, and none is a piece of a split
 * job. Returns the remaining jobs in their order; a job that took over others has their counts added. If D1 fails, the
 * jobs stay as they are: each dispatch is guarded.
 */
export async function mergePending<Job extends ClaimedJob>(
  context: Pick<Context, "db" | "now" | "log">,
  jobs: readonly Job[],
): Promise<Job[]> {
  const groups = Map.groupBy(
    jobs.filter(isSmallAndFresh),
    ({ model, lane, round, batches, halvings, refusals }) =>
      `${model} ${lane} ${round} ${batches} ${halvings} ${refusals}`,
  );
  const alike = [...groups.values()].filter((group) => group.length > 1);
  if (alike.length === 0) return [...jobs];
  const remaining = new Map(jobs.map((job) => [job.id, job]));
  try {
    const mergeable = await weighMergeableJobs(
      context.db,
      alike.flatMap((group) => group.map(({ id }) => id)),
    );
    const weights = new Map(mergeable.map(({ id, ...weight }) => [id, weighMembers(weight)]));
    for (const group of alike) {
      const weighed = group.flatMap((job) => {
        const weight = weights.get(job.id);
        return weight === undefined ? [] : [{ job, weight }];
      });
      // The oldest takes over the others.
      const oldestFirst = weighed.toSorted(
        (a, b) => a.job.createdAt - b.job.createdAt || (a.job.id < b.job.id ? -1 : 1),
      );
      for (const planned of planJobs(oldestFirst)) await merge(context, planned, remaining);
    }
  } catch (error) {
    context.log({ event: "merging_broke_off", ...describeError(error) });
  }
  return [...remaining.values()];
}

async function merge<Job extends ClaimedJob>(
  context: Pick<Context, "db" | "now" | "log">,
  planned: readonly { readonly job: Job; readonly weight: PartWeight }[],
  remaining: Map<JobId, Job>,
): Promise<void> {
  const [target, ...others] = planned;
  if (target === undefined || others.length === 0) return;
  const ids = others.map(({ job }) => job.id);
  const merged = await mergeJobs(context.db, target.job.id, ids, context.now());
  let { contexts, payloadBytes } = target.job;
  for (const { job } of others) {
    if (!merged.has(job.id)) continue;
    remaining.delete(job.id);
    contexts += job.contexts;
    payloadBytes += job.payloadBytes;
  }
  remaining.set(target.job.id, { ...target.job, contexts, payloadBytes });
  context.log({ event: "jobs_merged", job: target.job.id, merged: merged.size });
}

/** Two jobs larger than half of the maximum do not fit into one. */
function isSmallAndFresh({ status, dispatchNumber, contexts, payloadBytes }: ClaimedJob): boolean {
  return (
    status === "pending" &&
    dispatchNumber === 0 &&
    contexts <= MAX_JOB_CONTEXTS / 2 &&
    payloadBytes <= MAX_JOB_BYTES / 2
  );
}
