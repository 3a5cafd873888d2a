import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

/** Nothing more will be sent. Ends the submission where every document has ended already. */
export async function closeSubmission(
  db: Database,
  id: SubmissionId,
  now: number,
  holder: string | null = null,
): Promise<void> {
  await query(
    db,
    sql`
    UPDATE submissions SET closed_at = ${now}, active_at = ${now},
      completed_at = CASE WHEN succeeded + failed + canceled + lost = total THEN ${now} END
    WHERE id = ${id} AND closed_at IS NULL AND holder IS ${holder}`,
  );
}

/**
 * Opens again a submission that was closed as it was opened and could not be sent. What the Queue
 * may have taken in all the same stays counted.
 */
export async function reopenSubmission(db: Database, id: SubmissionId): Promise<void> {
  await query(db, sql`UPDATE submissions SET closed_at = NULL WHERE id = ${id} AND completed_at IS NULL`);
}
