import { EVERYTHING, pausedSubmissions } from "./pause-scopes.ts";
import { mintJobId, type JobId, type ModelName } from "@sluice/core";
import { deferJob } from "./sql/start-dispatch.ts";
import { holdPausedJobs, type Pause, type Paused } from "./sql/pause-dispatching.ts";
import { separateSubmissions } from "./sql/separate-submissions.ts";
import type { Context } from "../platform/context.ts";
import { pauseFor } from "./pauses.ts";

interface WaitingJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly status: "pending" | "dispatching";
  readonly dispatchNumber: number;
}

/**
 * Keeps a job back that a pause is about; gives whether it may be dispatched. Submissions share jobs:
 * what a paused one has in a job goes into a job of its own, and the others' documents go on.
 */
export async function keepBackPaused(io: Context, job: WaitingJob, pauses: readonly Pause[]): Promise<boolean> {
  const now = io.now();
  const pause = pauseFor(pauses, job);
  if (pause !== null) {
    await deferJob(io.db, job, pause, now);
    return false;
  }
  const paused = pausedSubmissions(pauses);
  if (paused.length === 0) return true;
  const left = await separateSubmissions(io.db, job, paused, mintJobId(now, io.randomBytes(10)), now);
  if (left !== "all") io.log({ event: "paused_kept_back", job: job.id, left });
  // A dispatch that broke off is over first: then the job is pending, and can be taken apart.
  if (left === "under_way") await deferJob(io.db, job, null, now);
  if (left === "none") await deferJob(io.db, job, "first_submission", now);
  return left === "all" || left === "some";
}

/**
 * Holds jobs of a claim that pauses cover whole, and others that are due, in a few statements; gives those
 * of the claim that remain. What a pause covers in part, or with a dispatch open, is left to `keepBackPaused`.
 */
export async function holdPaused<Job extends { readonly id: JobId; readonly model: ModelName }>(
  io: Pick<Context, "db" | "now">,
  jobs: readonly Job[],
  pauses: readonly Pause[],
): Promise<Job[]> {
  const now = io.now();
  const submissions = pausedSubmissions(pauses);
  const scopes = new Map<string, Paused>();
  if (submissions.length > 0) scopes.set("submissions", { kind: "submissions", submissions });
  for (const { model } of jobs) {
    const pause = pauseFor(pauses, { model });
    if (pause === null) continue;
    scopes.set(pause.scope, pause.scope === EVERYTHING ? { kind: "everything" } : { kind: "model", model });
  }
  const held = new Set<JobId>();
  for (const paused of scopes.values()) {
    const claimed = jobs.map(({ id }) => id).filter((id) => !held.has(id));
    for (const id of await holdPausedJobs(io.db, paused, claimed, now)) held.add(id);
  }
  return jobs.filter(({ id }) => !held.has(id));
}
