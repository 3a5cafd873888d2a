import { isNull, sql } from "drizzle-orm";
import { ABANDONED_AFTER_MS, IDEMPOTENCY_KEY_LIFE_MS } from "../lifetimes.ts";
import type { SubmissionId } from "@sluice/core";
import { query, submissions, transact, type Database } from "@sluice/db";
import { closeIncomplete, countLost, lackingDocuments } from "./count-lost.ts";
import { NOBODY } from "./open-submission.ts";

/** Documents of a submission that were lost with a Queue. */
export interface LostWithQueue {
  readonly submission: SubmissionId;
  readonly documentCount: number;
  /** Whether its cancellation was requested. */
  readonly canceled: boolean;
}

/**
 * Ends the documents that were only in a lost Queue, such as the one on a local machine after its process ended: they
 * fail as `message_lost`, and their pushes are closed. Staged parts are exempt. So is, for an hour, a push that its
 * `Idempotency-Key` can resume. No request is running anymore, so every push can be resumed immediately. That includes
 * an answered push if documents of it are lost.
 *
 * Call it while no Worker runs. Returns the lost documents. A repeated call finds none. Reads every submission and
 * every key.
 */
export async function endQueue(db: Database, now: number): Promise<LostWithQueue[]> {
  const resumable = sql`(
    active_at >= ${now - ABANDONED_AFTER_MS} AND id IN (
      SELECT submission_id FROM idempotency_keys
      WHERE api_key <> ${NOBODY} AND created_at > ${now - IDEMPOTENCY_KEY_LIFE_MS} AND answer IS NULL))`;
  const gone = sql`completed_at IS NULL AND NOT ${resumable}`;
  await transact(db, [
    db.update(submissions).set({ holder: "" }).where(isNull(submissions.completedAt)),
    closeIncomplete(gone, now),
  ]);
  const rows = await query<{ submission: SubmissionId; documentCount: number; canceled: 0 | 1 }>(
    db,
    sql`
    SELECT l.id AS submission, l.documents - l.lost AS documentCount, s.cancel_requested_at IS NOT NULL AS canceled
    FROM (${lackingDocuments(gone)}) l CROSS JOIN submissions s ON s.id = l.id ORDER BY l.id`,
  );
  await transact(db, [
    countLost(gone, now),
    // The answer promised that they are in the Queue. Without an answer, the same push sends the missing ones again.
    sql`
      UPDATE idempotency_keys SET status = NULL, answer = NULL WHERE answer IS NOT NULL AND submission_id IN (
        SELECT id FROM submissions WHERE lost > 0 AND cancel_requested_at IS NULL)`,
  ]);
  return rows.map((row) => ({ ...row, canceled: row.canceled === 1 }));
}
