import type { RetentionStep } from "./retention-step.ts";
import { deleteSubmissions, listSubmissionsAfter } from "./sql/delete-submissions.ts";

/** Submissions that one step looks at. */
const MAX_SUBMISSIONS = 5_000;

/** The step that deletes submissions without documents that ended before a time, by id. */
export function deleteSubmissionsStep(before: number): RetentionStep {
  return async (db, cursor, move, now) => {
    const after = cursor ?? "";
    const found = await listSubmissionsAfter(db, after, before, MAX_SUBMISSIONS);
    const end = { cursor: found.at(-1) ?? after, isLast: found.length < MAX_SUBMISSIONS };
    if (found.length > 0) await deleteSubmissions(db, found, before, move(end), now);
    return end;
  };
}
