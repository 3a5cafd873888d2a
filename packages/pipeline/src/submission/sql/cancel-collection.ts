import { sql, type SQL } from "drizzle-orm";
import { query, transact, type Database } from "@sluice/db";
import { memberSubmission } from "../../job/sql/members.ts";
import { moveCursor, type DeletionCursor } from "./deletion-cursor.ts";
import { selectDeletion, type CollectionDeletion } from "./request-deletion.ts";

/** Submissions that a step looks at. */
const WINDOW = 5_000;

/** Submissions that have not reached the totals, after those that are canceled already. */
const fresh = (at: DeletionCursor, through: string): SQL => sql`
  SELECT id FROM submissions
  WHERE id > max(${at.canceledThrough}, (SELECT coalesce(max(submissions_through), '') FROM folds)) AND id <= ${through}`;
/** Older submissions that the totals have set aside. */
const setAside = (at: DeletionCursor, through: string): SQL => sql`
  SELECT submission_id AS id FROM unfolded_submissions
  WHERE submission_id > ${at.canceledThrough} AND submission_id <= ${through}`;

/**
 * Cancels the next unfinished submissions, closes their pushes, which can then send nothing more, and makes their pending
 * jobs due. Those that have not ended are not in the totals, or set aside there: only these are looked at. Reads up to
 * 5,000 of them, and the lists of open jobs if one is canceled.
 */
export async function cancelNext(
  db: Database,
  deletion: CollectionDeletion,
  at: DeletionCursor,
  now: number,
): Promise<CollectionDeletion | null> {
  const { collection, through } = deletion;
  const [next] = await query<{ id: string }>(
    db,
    sql`
    SELECT id FROM (
      SELECT * FROM (SELECT id FROM (${fresh(at, through)}) ORDER BY id LIMIT ${WINDOW})
      UNION ALL
      SELECT * FROM (SELECT id FROM (${setAside(at, through)}) ORDER BY id LIMIT ${WINDOW}))
    ORDER BY id LIMIT 1 OFFSET ${WINDOW - 1}`,
  );
  const canceledThrough = next?.id ?? through;
  const unfinished = sql`
    SELECT s.id FROM (${fresh(at, canceledThrough)} UNION ALL ${setAside(at, canceledThrough)}) n
    CROSS JOIN submissions s ON s.id = n.id
    WHERE s.collection = ${collection} AND s.completed_at IS NULL`;
  const [row] = await transact<CollectionDeletion>(db, [
    sql`
      UPDATE submissions SET cancel_requested_at = coalesce(cancel_requested_at, ${now}),
        incomplete = iif(closed_at IS NULL, 1, incomplete), closed_at = coalesce(closed_at, ${now}),
        completed_at = CASE WHEN succeeded + failed + canceled + lost = total THEN ${now} END
      WHERE id IN (${unfinished}) AND (cancel_requested_at IS NULL OR closed_at IS NULL)`,
    sql`
      UPDATE jobs SET due_at = min(due_at, ${now})
      WHERE due_at IS NOT NULL AND status = 'pending' AND EXISTS (${unfinished})
        AND EXISTS (SELECT 1 FROM json_each(members) g WHERE ${memberSubmission} IN (${unfinished}))`,
    moveCursor(deletion, { ...at, canceledThrough }),
    selectDeletion(collection),
  ]);
  return row ?? null;
}
