import { and, count, desc, eq, lt, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { outcomes, submissions } from "../schema.ts";

export type SubmissionRow = typeof submissions.$inferSelect;

/** A submission by its id: one row. */
export async function readSubmission(db: Database, id: SubmissionId): Promise<SubmissionRow | null> {
  const [row] = await db.select().from(submissions).where(eq(submissions.id, id));
  return row ?? null;
}

/** Failed documents of a submission by code. Reads an index entry a failed document. */
export async function countFailures(db: Database, id: SubmissionId): Promise<{ code: string; count: number }[]> {
  const rows = await db
    .select({ code: outcomes.code, count: count() })
    .from(outcomes)
    // Spelled out, since only the literal lets SQLite use the index on failures.
    .where(and(eq(outcomes.submissionId, id), sql`status = 'failed'`))
    .groupBy(outcomes.code);
  return rows.flatMap((row) => (row.code === null ? [] : [{ code: row.code, count: row.count }]));
}

/** Submissions, the newest first, after the cursor's. Reads as many rows as it gives. */
export async function listSubmissions(db: Database, before: SubmissionId | null, limit: number): Promise<SubmissionRow[]> {
  return db
    .select()
    .from(submissions)
    .where(before === null ? undefined : lt(submissions.id, before))
    .orderBy(desc(submissions.id))
    .limit(limit);
}
