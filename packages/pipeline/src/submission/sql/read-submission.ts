import { and, desc, eq, getTableColumns, lt, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, submissions, query } from "@sluice/db";
import { submissionIdAt } from "./open-submission.ts";

export type SubmissionRow = typeof submissions.$inferSelect & {
  /** Whether a retry is about to queue documents of it. Then it has not ended, although all of its documents have. */
  readonly isRetrying: boolean;
};

const columns = {
  ...getTableColumns(submissions),
  isRetrying: sql`EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = submissions.id)`.mapWith(Boolean),
};

/** Reads a submission by its id: one row, and one of its retry. */
export async function readSubmission(db: Database, id: SubmissionId): Promise<SubmissionRow | null> {
  const [row] = await db.select(columns).from(submissions).where(eq(submissions.id, id));
  return row ?? null;
}

/** Counts failed documents of submissions by code. Reads one index entry per failed document. */
export async function countFailures(
  db: Database,
  ids: readonly SubmissionId[],
): Promise<{ submission: SubmissionId; code: string; count: number }[]> {
  // The status is a literal, because SQLite uses the index on failures only with a literal.
  return query(
    db,
    sql`
    SELECT o.submission_id AS submission, o.code AS code, count(*) AS count
    FROM json_each(${JSON.stringify(ids)}) asked
    CROSS JOIN outcomes o INDEXED BY outcomes_failed ON o.submission_id = asked.value AND o.status = 'failed'
    GROUP BY o.submission_id, o.code`,
  );
}

export interface SubmissionFilter {
  /** A cursor: only submissions opened before this one. */
  readonly before: SubmissionId | null;
  /** Opened at this time or later, in milliseconds. */
  readonly since: number | null;
  readonly label: string | null;
}

/**
 * Lists submissions, the newest first. Reads as many rows as it returns, one index entry more for each with a label
 * filter, and one row for each that is retried.
 */
export async function listSubmissions(db: Database, filter: SubmissionFilter, limit: number): Promise<SubmissionRow[]> {
  const { before, since, label } = filter;
  return db
    .select(columns)
    .from(submissions)
    .where(
      and(
        before === null ? undefined : lt(submissions.id, before),
        since === null ? undefined : sql`${submissions.id} >= ${submissionIdAt(since)}`,
        // Repeated as a literal, because SQLite uses the index on labeled ones only with a literal.
        label === null ? undefined : sql`${submissions.label} = ${label} AND ${submissions.label} IS NOT NULL`,
      ),
    )
    .orderBy(desc(submissions.id))
    .limit(limit);
}
