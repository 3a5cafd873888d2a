import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query, transact } from "@sluice/db";
import { SUBMISSION_SCOPE } from "../../job/pause-scopes.ts";
import { raiseHighWaterMark } from "../../platform/sql/high-water-marks.ts";
import { submissionIdAt } from "./open-submission.ts";
import { moveRetention, type RetentionMove } from "./retention-progress.ts";

/** The next submissions by id that were opened before a time. */
export async function listSubmissionsAfter(
  db: Database,
  after: string,
  before: number,
  limit: number,
): Promise<SubmissionId[]> {
  const rows = await query<{ id: SubmissionId }>(
    db,
    sql`SELECT id FROM submissions WHERE id > ${after} AND id < ${submissionIdAt(before)} ORDER BY id LIMIT ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Deletes submissions that ended before a time, are in the totals, and have nothing left: no document, part or retry. The
 * mark is raised to the newest deleted one, so that the consumer can tell a late message of a deleted submission from
 * one of an unknown submission. One with lost documents stays, because it never is in the totals. A repeated call changes
 * nothing. Reads five rows per submission.
 */
export async function deleteSubmissions(
  db: Database,
  submissions: readonly SubmissionId[],
  before: number,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const list = JSON.stringify(submissions);
  const has = (table: string) =>
    sql`EXISTS (SELECT 1 FROM ${sql.identifier(table)} x WHERE x.submission_id = submissions.id)`;
  await transact(db, [
    sql`
      DELETE FROM submissions WHERE id IN (SELECT value FROM json_each(${list}))
        AND completed_at < ${before} AND active_at < ${before} AND lost = 0 AND forgotten = recorded
        AND id <= (SELECT coalesce(max(submissions_through), '') FROM folds)
        AND NOT ${has("unfolded_submissions")} AND NOT ${has("watched_submissions")}
        AND NOT ${has("parts")} AND NOT ${has("staged_parts")} AND NOT ${has("sent_parts")} AND NOT ${has("retries")}
        AND NOT EXISTS (SELECT 1 FROM pauses WHERE scope = ${SUBMISSION_SCOPE} || submissions.id)`,
    moveRetention(move, now),
    raiseHighWaterMark(
      "submission_id",
      sql`
      SELECT max(n.value) FROM json_each(${list}) n
      WHERE NOT EXISTS (SELECT 1 FROM submissions s WHERE s.id = n.value)`,
    ),
  ]);
}
