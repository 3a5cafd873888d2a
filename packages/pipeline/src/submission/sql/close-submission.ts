import { and, isNull, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { submissions, transact, type Database } from "@sluice/db";

/**
 * Whether a push is closed. `taken`: another request holds it. `given_up`: the poller closed it as abandoned, with what
 * it had sent. In both cases, the push must not be answered as accepted.
 */
export type Closing = "closed" | "taken" | "given_up";

/**
 * Closes a push: nothing more will be sent. Completes the submission if every document has ended already. A repeated
 * call changes nothing and returns the same.
 */
export async function closeSubmission(
  db: Database,
  id: SubmissionId,
  now: Time,
  holder: string | null = null,
): Promise<Closing> {
  const held = sql`id = ${id} AND holder IS ${holder}`;
  const [row] = await transact<{ whole: number }>(db, [
    db
      .update(submissions)
      .set({
        closedAt: now,
        activeAt: now,
        completedAt: sql`CASE WHEN succeeded + failed + canceled + lost = total THEN ${now} END`,
      })
      .where(and(held, isNull(submissions.closedAt))),
    sql`
      DELETE FROM sent_parts WHERE submission_id = ${id}
        AND EXISTS (SELECT 1 FROM submissions WHERE ${held} AND closed_at IS NOT NULL AND NOT incomplete)`,
    sql`SELECT NOT incomplete AS whole FROM submissions WHERE ${held} AND closed_at IS NOT NULL`,
  ]);
  if (row === undefined) return "taken";
  return row.whole === 1 ? "closed" : "given_up";
}

/**
 * Reopens a submission that was closed when it was opened but could not be sent. The poller sweeps it again. Documents
 * that the Queue may have accepted anyway stay counted. A submission that was taken over, by the caller or another
 * request, stays closed, because the request that held it before may have been answered.
 */
export async function reopenSubmission(db: Database, id: SubmissionId, holder: string | null = null): Promise<void> {
  if (holder !== null) return;
  const own = sql`id = ${id} AND completed_at IS NULL AND holder IS NULL`;
  await transact(db, [
    sql`
      INSERT INTO watched_submissions (submission_id) SELECT id FROM submissions WHERE ${own}
      ON CONFLICT DO NOTHING`,
    sql`UPDATE submissions SET closed_at = NULL WHERE ${own}`,
  ]);
}
