import { sql } from "drizzle-orm";
import { lanes } from "@sluice/core";
import { type Database, query } from "@sluice/db";

export interface OpenJobs {
  readonly status: "pending" | "dispatching" | "dispatched";
  readonly count: number;
  /** When the one of them that was dispatched first was dispatched; null if none was. */
  readonly firstDispatchedAt: number | null;
}

/**
 * Counts open jobs by status. Reads `limit` jobs of each lane at most that wait to be dispatched, and as many that are
 * dispatched, in the order in which they are due.
 */
export async function countOpenJobs(db: Database, limit: number): Promise<OpenJobs[]> {
  const ranges = lanes.flatMap((lane) => [0, 1].map((isDispatched) => ({ lane, isDispatched })));
  const rows = ranges.map(
    // The index contains the expression exactly as written here.
    ({ lane, isDispatched }) => sql`
      SELECT * FROM (SELECT status, dispatched_at FROM jobs INDEXED BY jobs_due
        WHERE lane = ${lane} AND (status = 'dispatched') = ${sql.raw(String(isDispatched))} AND due_at IS NOT NULL
        ORDER BY due_at LIMIT ${limit})`,
  );
  return query<OpenJobs>(
    db,
    sql`
    SELECT status, count(*) AS count, min(iif(status = 'dispatched', dispatched_at, NULL)) AS firstDispatchedAt
    FROM (${sql.join(rows, sql` UNION ALL `)}) GROUP BY status`,
  );
}
