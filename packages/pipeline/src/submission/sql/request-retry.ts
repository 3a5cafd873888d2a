import { sql } from "drizzle-orm";
import type { FailureCode, SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { query, retries, transact, type Database } from "@sluice/db";

/** A retry in progress. */
export interface RetryKey {
  readonly submission: SubmissionId;
  /** The failure code that it is limited to; `''`: every one. */
  readonly code: FailureCode | "";
}

/** One that was requested at some time: a later one of the same key has another token. */
export interface RequestedRetry extends RetryKey {
  readonly token: string;
}

export interface RetryProgress {
  /** Failed documents that it was requested for, each counted once, whatever other retries there are. */
  readonly documents: number;
  /** Documents that it has queued so far. */
  readonly queued: number;
  readonly requestedAt: number;
}

/** Where the search for parts with failed documents begins: before every code and document. */
const FIRST = '["","",""]';

/**
 * Requests that a submission's failed documents are queued again. `token` is random. Returns the retry that will queue
 * them: one in progress of the same code, or of every code, continues unchanged. One of every code replaces those of
 * single codes. Retries of different codes each count the documents that they have not reached. `null` if nothing
 * failed or the submission is canceled. Reads an index entry for each failed document.
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
        AND EXISTS (SELECT 1 FROM submissions WHERE id = ${submission} AND cancel_requested_at IS NULL)
      HAVING count(*) > 0
      ON CONFLICT DO NOTHING`,
    // A retry of every code reaches all of them, those of this one too.
    ...["retry_parts", "retries"].map(
      (table) => sql`
      DELETE FROM ${sql.identifier(table)} WHERE submission_id = ${submission} AND code <> ''
        AND EXISTS (SELECT 1 FROM retries WHERE submission_id = ${submission} AND code = '')`,
    ),
    // A document that was queued may have failed again with the other code, and is one of the new retry's.
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

/** One row if a retry is in progress. */
export const anyRetry = sql`SELECT 1 FROM retries LIMIT 1`;

/** The retries in progress, the longest waiting first. Reads all of them: usually a few. */
export async function listRetries(db: Database, limit: number): Promise<RetryKey[]> {
  const { submissionId, code, requestedAt } = retries;
  return db
    .select({ submission: submissionId, code })
    .from(retries)
    .orderBy(requestedAt, submissionId, code)
    .limit(limit);
}

/**
 * The progress of the retries of submissions, summed over codes. A retry may queue more documents than it was requested
 * for: those that failed in one of its parts before it reached the part.
 */
export async function readRetryProgress(
  db: Database,
  submissions: readonly SubmissionId[],
): Promise<(RetryProgress & { readonly submission: SubmissionId })[]> {
  return query(
    db,
    sql`
    SELECT r.submission_id AS submission, sum(max(r.documents, r.queued)) AS documents, sum(r.queued) AS queued,
      min(r.requested_at) AS requestedAt
    FROM json_each(${JSON.stringify(submissions)}) asked CROSS JOIN retries r ON r.submission_id = asked.value
    GROUP BY r.submission_id`,
  );
}
