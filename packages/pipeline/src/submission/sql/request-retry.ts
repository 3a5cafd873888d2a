import { sql } from "drizzle-orm";
import type { FailureCode, SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { query, retries, transact, type Database } from "@sluice/db";
import { isSameDocument } from "../../document/sql/is-document.ts";
import { isDeleted } from "./is-forgotten.ts";

/** A retry in progress. */
export interface RetryKey {
  readonly submission: SubmissionId;
  /** The failure code that it is limited to; `''` for all codes. */
  readonly code: FailureCode | "";
}

/** A specific request: a later retry with the same key has another token. */
export interface RequestedRetry extends RetryKey {
  readonly token: string;
}

export interface RetryProgress {
  /** Failed documents that it was requested for. Each counts once, even if other retries overlap. */
  readonly documentCount: number;
  /** Documents queued so far. */
  readonly queued: number;
  readonly requestedAt: number;
}

/** The start of the search for parts with failed documents: before every code and document. */
const FIRST = '["","",""]';

/**
 * Requests that a submission's failed documents are queued again. `token` is random. Returns the retry that will queue
 * them. A retry in progress of the same code, or of all codes, continues unchanged. A retry of all codes replaces those
 * of single codes. Retries of different codes each count the documents that they have not reached. Returns `null` if
 * nothing failed, the submission is canceled, or its collection was deleted. Reads one index entry per failed document.
 */
export async function requestRetry(
  db: Database,
  { submission, code, token }: RequestedRetry,
  now: Time,
): Promise<RetryKey | null> {
  const [retry] = await transact<RetryKey>(db, [
    sql`
      INSERT INTO retries (submission_id, code, token, requested_at, documents, listed_through)
      SELECT ${submission}, ${code}, ${token}, ${now}, count(*), ${FIRST} FROM outcomes o INDEXED BY outcomes_failed
      WHERE o.submission_id = ${submission} AND o.status = 'failed' AND (${code} = '' OR o.code = ${code})
        AND EXISTS (SELECT 1 FROM submissions s
          WHERE s.id = ${submission} AND s.cancel_requested_at IS NULL AND NOT ${isDeleted(sql`s`)})
      HAVING count(*) > 0
      ON CONFLICT DO NOTHING`,
    // A retry of all codes reaches all of them, including those of this retry.
    ...["retry_parts", "retries"].map(
      (table) => sql`
      DELETE FROM ${sql.identifier(table)} WHERE submission_id = ${submission} AND code <> ''
        AND EXISTS (SELECT 1 FROM retries WHERE submission_id = ${submission} AND code = '')`,
    ),
    // A queued document may have failed again with the other code, and then belongs to the new retry.
    sql`
      UPDATE retries SET documents = max(documents - queued, 0), queued = 0
      WHERE submission_id = ${submission} AND code <> ${code} AND queued > 0
        AND EXISTS (SELECT 1 FROM retries WHERE submission_id = ${submission} AND code = ${code} AND token = ${token})`,
    sql`
      SELECT submission_id AS submission, code FROM retries
      WHERE submission_id = ${submission} AND code IN ('', ${code}) ORDER BY code LIMIT 1`,
  ]);
  return retry ?? null;
}

/**
 * Counts failed documents of a submission that cannot be retried because their texts expired. Reads one row if that
 * never happened, otherwise three per failed document.
 */
export async function countExpiredFailures(db: Database, { submission, code }: RetryKey): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`
    SELECT CASE WHEN EXISTS (SELECT 1 FROM retention_progress WHERE task = 'failed_texts' AND deleted > 0) THEN (
      SELECT count(*) FROM outcomes o INDEXED BY outcomes_failed
      CROSS JOIN documents d ON ${isSameDocument(sql`d`, sql`o`)}
      WHERE o.submission_id = ${submission} AND o.status = 'failed' AND (${code} = '' OR o.code = ${code})
        AND NOT EXISTS (SELECT 1 FROM contexts t WHERE t.id = d.contexts_id)) ELSE 0 END AS count`,
  );
  return row?.count ?? 0;
}

/** One row if a retry is in progress. */
export const anyRetry = sql`SELECT 1 FROM retries LIMIT 1`;

/** Lists the retries in progress, the longest waiting first. Reads all of them, usually a few. */
export async function listRetries(db: Database, limit: number): Promise<RetryKey[]> {
  const { submissionId, code, requestedAt } = retries;
  return db
    .select({ submission: submissionId, code })
    .from(retries)
    .orderBy(requestedAt, submissionId, code)
    .limit(limit);
}

/**
 * The progress of the retries of submissions, summed over codes. A retry may queue more documents than requested:
 * documents of a part that failed before the retry reached it are included.
 */
export async function readRetryProgress(
  db: Database,
  submissions: readonly SubmissionId[],
): Promise<(RetryProgress & { readonly submission: SubmissionId })[]> {
  return query(
    db,
    sql`
    SELECT r.submission_id AS submission, sum(max(r.documents, r.queued)) AS documentCount, sum(r.queued) AS queued,
      min(r.requested_at) AS requestedAt
    FROM json_each(${JSON.stringify(submissions)}) asked CROSS JOIN retries r ON r.submission_id = asked.value
    GROUP BY r.submission_id`,
  );
}
