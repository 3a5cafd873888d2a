import { sql } from "drizzle-orm";
import type { JobId, Lane } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/** Maximum jobs read of each lane, and of ended ones. */
const LOOKED_AT = 50;

/**
 * Whether a job's submits keep timing out while others succeed. That is the case if the dispatch before the open one,
 * of this job or of the job that it is a half of, ended without an answer too, and another job of the model was
 * dispatched and confirmed since the open dispatch started. In an outage none is. Reads the dispatched jobs that are
 * polled next and the jobs that ended last: at most 300 rows.
 */
export async function timesOutWhileOthersDoNot(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number },
): Promise<boolean> {
  const dueNext = (lane: Lane) => sql`
    SELECT * FROM (SELECT id, model, request_id, dispatched_at FROM jobs INDEXED BY jobs_due
      WHERE lane = ${lane} AND (status = 'dispatched') = 1 AND due_at IS NOT NULL AND due_at > (SELECT dispatched_at FROM jobs WHERE id = ${job.id})
      ORDER BY due_at LIMIT ${LOOKED_AT})`;
  const rows = await query(
    db,
    sql`
    SELECT 1 FROM jobs j CROSS JOIN (
      ${dueNext("interactive")} UNION ALL ${dueNext("bulk")} UNION ALL
      SELECT * FROM (SELECT id, model, request_id, dispatched_at FROM jobs INDEXED BY jobs_finalized
        WHERE finalized_sequence IS NOT NULL ORDER BY finalized_sequence DESC LIMIT ${LOOKED_AT})) other
    WHERE j.id = ${job.id} AND j.dispatch_number = ${job.dispatchNumber}
      AND (j.halvings > 0 OR (j.refusals > 0 AND j.unconfirmed_dispatches > 0))
      AND other.id <> j.id AND other.model = j.model AND other.request_id IS NOT NULL
      AND other.dispatched_at >= j.dispatched_at
    LIMIT 1`,
  );
  return rows.length > 0;
}
