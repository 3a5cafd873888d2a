import { EVERYTHING, pausedSubmissions } from "./pause-scopes.ts";
import { mintJobId, type JobId, type ModelName } from "@sluice/core";
import { deferJob } from "./sql/start-dispatch.ts";
import { holdPausedJobs, type Pause, type Paused } from "./sql/pause-dispatching.ts";
import { separateSubmissions } from "./sql/separate-submissions.ts";
import type { Context } from "../platform/context.ts";
import { pauseFor } from "./pauses.ts";

interface PausableJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly status: "pending" | "dispatching";
  readonly dispatchNumber: number;
}

/**
 * Holds a job that a pause covers. Returns whether it may be dispatched. Submissions share jobs, so the documents of a
 * paused one move to a job of their own, and the rest stays.
 */
export async function keepBackPaused(context: Context, job: PausableJob, pauses: readonly Pause[]): Promise<boolean> {
  const now = context.now();
  const pause = pauseFor(pauses, job);
  if (pause !== null) {
    await deferJob(context.db, job, pause, now);
    return false;
  }
  const paused = pausedSubmissions(pauses);
  if (paused.length === 0) return true;
  const left = await separateSubmissions(context.db, job, paused, mintJobId(now, context.randomBytes(10)), now);
  if (left !== "all") context.log({ event: "paused_kept_back", job: job.id, left });
  // First end an interrupted dispatch. Then the job is pending and can be split up.
  if (left === "under_way") await deferJob(context.db, job, null, now);
  if (left === "none") await deferJob(context.db, job, "first_submission", now);
  return left === "all" || left === "some";
}

/**
 * Holds claimed and other due jobs that pauses cover entirely, in a few statements. Returns the claimed jobs that
 * remain. Jobs that are covered in part or have an open dispatch are left to `keepBackPaused`.
 */
export async function holdPaused<Job extends { readonly id: JobId; readonly model: ModelName }>(
  context: Pick<Context, "db" | "now">,
  jobs: readonly Job[],
  pauses: readonly Pause[],
): Promise<Job[]> {
  const now = context.now();
  const submissions = pausedSubmissions(pauses);
  const scopes = new Map<string, Paused>();
  if (submissions.length > 0) scopes.set("submissions", { kind: "submissions", submissionIds: submissions });
  for (const { model } of jobs) {
    const pause = pauseFor(pauses, { model });
    if (pause === null) continue;
    scopes.set(pause.scope, pause.scope === EVERYTHING ? { kind: "everything" } : { kind: "model", model });
  }
  const held = new Set<JobId>();
  for (const paused of scopes.values()) {
    const claimed = jobs.map(({ id }) => id).filter((id) => !held.has(id));
    for (const id of await holdPausedJobs(context.db, paused, claimed, now)) held.add(id);
  }
  return jobs.filter(({ id }) => !held.has(id));
}
