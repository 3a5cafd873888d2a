import { and, desc, eq, getTableColumns, lt, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, submissions, query } from "@sluice/db";
import { submissionIdAt } from "./open-submission.ts";

export type SubmissionRow = typeof submissions.$inferSelect & {
  /** Whether a retry is about to queue documents of it again: then it is not over, though all of them have ended. */
  readonly isRetrying: boolean;
};

const columns = {
  ...getTableColumns(submissions),
  isRetrying: sql`EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = submissions.id)`.mapWith(Boolean),
};

/** A submission by its id: one row, and one of its retry. */
export async function readSubmission(db: Database, id: SubmissionId): Promise<SubmissionRow | null> {
  const [row] = await db.select(columns).from(submissions).where(eq(submissions.id, id));
  return row ?? null;
}

/** Failed documents of submissions by code. Reads an index entry a failed document. */
export async function countFailures(
  db: Database,
  ids: readonly SubmissionId[],
): Promise<{ submission: SubmissionId; code: string; count: number }[]> {
  // The status is spelled out, since only the literal lets SQLite use the index on failures.
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
  /** Only those that were opened before this one: a cursor. */
  readonly before: SubmissionId | null;
  /** Opened at this time or later, in milliseconds. */
  readonly since: number | null;
  readonly label: string | null;
}

/**
 * Submissions, the newest first. Reads as many rows as it returns, with a label as many index entries besides, and a
 * row for each that is retried.
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
        // Said twice, since only the literal lets SQLite use the index on labelled ones.
        label === null ? undefined : sql`${submissions.label} = ${label} AND ${submissions.label} IS NOT NULL`,
      ),
    )
    .orderBy(desc(submissions.id))
    .limit(limit);
}
