import { sql } from "drizzle-orm";
import type { FailureCode, SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, query, transact } from "@sluice/db";

/** A retry that is not through. */
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
  /** Documents that had failed when it was requested. */
  readonly documents: number;
  /** Documents that it has queued so far. */
  readonly queued: number;
  readonly requestedAt: number;
}

/** Where the search for parts with failed documents begins: before every code and document. */
const FIRST = '["","",""]';

/**
 * Requests that a submission's failed documents are queued again. One of the same code that is not through goes
 * on as it is. `token` is random. Gives whether there is one; not where nothing failed, or the submission is canceled. Reads an index
 * entry a failed document.
 */
export async function requestRetry(
  db: Database,
  { submission, code, token }: RequestedRetry,
  now: Time,
): Promise<boolean> {
  const rows = await transact(db, [
    sql`
      INSERT INTO retries (submission_id, code, token, requested_at, documents, listed_through)
      SELECT ${submission}, ${code}, ${token}, ${now}, count(*), ${FIRST} FROM outcomes o INDEXED BY outcomes_failed
      WHERE o.submission_id = ${submission} AND o.status = 'failed' AND (${code} = '' OR o.code = ${code})
        AND EXISTS (SELECT 1 FROM submissions WHERE id = ${submission} AND cancel_requested_at IS NULL)
      HAVING count(*) > 0
      ON CONFLICT DO NOTHING`,
    sql`SELECT 1 FROM retries WHERE submission_id = ${submission} AND code = ${code}`,
  ]);
  return rows.length > 0;
}

/** The retries that are not through, those that wait longest first. Reads all of them: a handful as a rule. */
export async function listRetries(db: Database, limit: number): Promise<RetryKey[]> {
  return query(
    db,
    sql`SELECT submission_id AS submission, code FROM retries ORDER BY requested_at, submission_id, code LIMIT ${limit}`,
  );
}

/** How far the retries of submissions are that are not through, those of several codes together. */
export async function readRetryProgress(
  db: Database,
  submissions: readonly SubmissionId[],
): Promise<(RetryProgress & { readonly submission: SubmissionId })[]> {
  return query(
    db,
    sql`
    SELECT r.submission_id AS submission, sum(r.documents) AS documents, sum(r.queued) AS queued,
      min(r.requested_at) AS requestedAt
    FROM json_each(${JSON.stringify(submissions)}) asked CROSS JOIN retries r ON r.submission_id = asked.value
    GROUP BY r.submission_id`,
  );
}
