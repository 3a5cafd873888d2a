import { mintJobId, pausedSubmissions, type JobId, type ModelName } from "@sluice/core";
import { deferJob, separateSubmissions, type Pause } from "@sluice/db";
import type { StepIo } from "./io.ts";
import { dueAfterPause, pauseFor, pauseOfSubmissions } from "./pauses.ts";

interface WaitingJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly status: "pending" | "dispatching";
  readonly attempt: number;
}

/**
 * Keeps a job back that a pause is about; gives whether it may be dispatched. Submissions share jobs:
 * what a paused one has in a job goes into a job of its own, and the others' documents go on.
 */
export async function keepBackPaused(io: StepIo, job: WaitingJob, pauses: readonly Pause[]): Promise<boolean> {
  const now = io.now();
  const pause = pauseFor(pauses, job);
  if (pause !== null) {
    await deferJob(io.db, job, dueAfterPause(pause, now), now);
    return false;
  }
  const paused = pausedSubmissions(pauses);
  const own = pauseOfSubmissions(pauses, paused);
  if (own === null) return true;
  const apart = { id: mintJobId(now, io.randomBytes(10)), dueAt: dueAfterPause(own, now) };
  const left = await separateSubmissions(io.db, job, paused, apart, now);
  if (left !== "all") io.log({ event: "paused_kept_back", job: job.id, left });
  // An attempt that broke off is over first: then the job is pending, and can be taken apart.
  if (left === "under_way") await deferJob(io.db, job, now, now);
  if (left === "none") await deferJob(io.db, job, apart.dueAt, now);
  return left === "all" || left === "some";
}
