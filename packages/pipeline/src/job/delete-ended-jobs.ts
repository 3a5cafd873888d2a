import type { RetentionStep } from "../submission/retention-step.ts";
import { deleteEndedJobs, listJobsAfter } from "./sql/delete-ended-jobs.ts";

/** Jobs that one step looks at. */
const MAX_JOBS = 5_000;

/** The step that deletes jobs that ended before a time, by id. */
export function deleteJobsStep(before: number): RetentionStep {
  return async (db, cursor, move, now) => {
    const after = cursor ?? "";
    const found = await listJobsAfter(db, after, MAX_JOBS);
    const young = found.findIndex(({ createdAt }) => createdAt >= before);
    const jobs = (young < 0 ? found : found.slice(0, young)).map(({ id }) => id);
    const end = { cursor: jobs.at(-1) ?? after, isLast: young >= 0 || found.length < MAX_JOBS };
    if (jobs.length > 0) await deleteEndedJobs(db, jobs, before, move(end), now);
    return end;
  };
}
