import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

/** Makes jobs due that were recorded and not dispatched: who recorded them leaves them to the poller. Two rows read a job. */
export async function releaseJobs(db: Database, jobs: readonly JobId[], now: number): Promise<void> {
  await query(
    db,
    sql`
    UPDATE jobs SET due_at = ${now}
    WHERE id IN (SELECT value FROM json_each(${JSON.stringify(jobs)})) AND status = 'pending' AND attempt = 0
      AND paused_by IS NULL`,
  );
}
