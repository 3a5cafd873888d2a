import { sql } from "drizzle-orm";
import type { JobId, RequestId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/**
 * Records the `request_id` that Workers AI gave for a dispatch; `dueAt` is the first poll. Gives
 * whether the job is dispatched under it: false means that another dispatch was started meanwhile,
 * and this one's answer is nobody's.
 */
export async function confirmDispatch(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number },
  requestId: RequestId,
  dueAt: number,
): Promise<boolean> {
  const rows = await query(
    db,
    sql`
    UPDATE jobs SET status = 'dispatched', request_id = ${requestId}, due_at = ${dueAt}, refusals = 0,
      dispatches = json_set(dispatches, '$[#-1].request_id', ${requestId})
    WHERE id = ${job.id} AND dispatch_number = ${job.dispatchNumber}
      AND (status = 'dispatching' OR (status = 'dispatched' AND request_id = ${requestId}))
    RETURNING id`,
  );
  return rows.length > 0;
}
