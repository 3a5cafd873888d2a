import { desc, eq, lt, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { submissions } from "../schema.ts";
import { query } from "../statements.ts";

export type SubmissionRow = typeof submissions.$inferSelect;

/** A submission by its id: one row. */
export async function readSubmission(db: Database, id: SubmissionId): Promise<SubmissionRow | null> {
  const [row] = await db.select().from(submissions).where(eq(submissions.id, id));
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

/** Submissions, the newest first, after the cursor's. Reads as many rows as it gives. */
export async function listSubmissions(
  db: Database,
  before: SubmissionId | null,
  limit: number,
): Promise<SubmissionRow[]> {
  return db
    .select()
    .from(submissions)
    .where(before === null ? undefined : lt(submissions.id, before))
    .orderBy(desc(submissions.id))
    .limit(limit);
}
