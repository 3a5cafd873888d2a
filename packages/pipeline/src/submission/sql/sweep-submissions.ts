import { gt, lt, or, sql, type SQL, type SQLWrapper } from "drizzle-orm";
import { IDEMPOTENCY_KEY_LIFE_MS, WRONG_CLOCK_MS } from "../lifetimes.ts";
import type { SubmissionId } from "@sluice/core";
import { stagedParts, transact, type Database } from "@sluice/db";
import { closeIncomplete, countLost } from "./count-lost.ts";
import { isDeleted } from "./is-forgotten.ts";
import { anyDeletion } from "./request-deletion.ts";
import { submissionsOpenedBefore } from "./submissions-opened-before.ts";

/** Times in milliseconds. A submission whose last activity was before them is inactive. */
export interface SweepTimes {
  readonly now: number;
  /** Submissions created after this are left to a later sweep. */
  readonly settledBy: number;
  readonly abandonedBefore: number;
  readonly lostBefore: number;
}

/** Maximum submissions in one sweep. */
const SWEEP_SIZE = 5_000;

/**
 * Sweeps inactive submissions: closes an abandoned push as incomplete with the documents sent, and counts documents as
 * lost once no message can deliver them anymore.
 *
 * Stores how far it has come, and the few submissions that are not settled, so its cost does not grow with the number
 * of submissions. Every statement may be repeated.
 */
export async function sweepSubmissions(db: Database, times: SweepTimes): Promise<void> {
  const through = sql`(SELECT coalesce(max(swept_through), '') FROM sweeps)`;
  const passed = submissionsOpenedBefore(times.settledBy, through, SWEEP_SIZE);
  const watched = sql`(SELECT submission_id FROM watched_submissions)`;
  await transact(db, [
    sql`
      INSERT INTO watched_submissions (submission_id)
      SELECT id FROM (${passed}) WHERE closed_at IS NULL OR recorded + lost < total
      ON CONFLICT DO NOTHING`,
    sql`
      INSERT INTO sweeps (id, swept_through) SELECT 1, max(id) FROM (${passed}) HAVING max(id) IS NOT NULL
      ON CONFLICT (id) DO UPDATE SET swept_through = excluded.swept_through`,
    closeIncomplete(
      sql`id IN ${watched} AND (active_at < ${times.abandonedBefore} OR active_at > ${times.now + WRONG_CLOCK_MS})`,
      times.now,
    ),
    countLost(sql`id IN ${watched} AND active_at < ${times.lostBefore}`, times.now),
    // The sent parts of pushes that can no longer be resumed.
    sql`
      DELETE FROM sent_parts WHERE (submission_id, part) IN (
        SELECT t.submission_id, t.part FROM sent_parts t CROSS JOIN submissions s ON s.id = t.submission_id
        WHERE s.active_at < ${times.now - IDEMPOTENCY_KEY_LIFE_MS} LIMIT ${SWEEP_SIZE})`,
    sql`
      DELETE FROM watched_submissions WHERE submission_id IN (
        SELECT id FROM submissions WHERE id IN ${watched} AND closed_at IS NOT NULL AND recorded + lost = total)`,
  ]);
}

/** Staged parts whose message did not arrive in time, or whose collection is being deleted. */
export async function listStagedParts(
  db: Database,
  stagedBefore: number,
  limit: number,
): Promise<{ readonly submission: SubmissionId; readonly part: number; readonly body: string }[]> {
  const { submissionId, part, stagedAt, body } = stagedParts;
  return db
    .select({ submission: submissionId, part, body })
    .from(stagedParts)
    .where(or(lt(stagedAt, stagedBefore), gt(stagedAt, stagedBefore + WRONG_CLOCK_MS), isBeingDeleted(submissionId)))
    .orderBy(submissionId, part)
    .limit(limit);
}

function isBeingDeleted(submission: SQLWrapper): SQL {
  return sql`(
    EXISTS (${anyDeletion})
    AND EXISTS (SELECT 1 FROM submissions s WHERE s.id = ${submission} AND ${isDeleted(sql`s`)}))`;
}
