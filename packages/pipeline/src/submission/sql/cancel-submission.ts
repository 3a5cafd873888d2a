import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, transact } from "@sluice/db";

/**
 * Requests a submission's cancellation and ends its retries: what they have not queued again stays failed. The
 * request is read where a part is recorded, where a dispatch starts and where a retry queues documents; pending jobs
 * become due, so that the next run reads it. What is dispatched finishes. A submission whose documents have all
 * ended stays as it is, unless a retry is about to queue some of them. Reads the lists of open jobs.
 */
export async function cancelSubmission(db: Database, id: SubmissionId, now: Time): Promise<void> {
  const isCanceled = sql`EXISTS (SELECT 1 FROM submissions WHERE id = ${id} AND cancel_requested_at IS NOT NULL)`;
  await transact(db, [
    sql`
      UPDATE submissions SET cancel_requested_at = ${now}
      WHERE id = ${id} AND cancel_requested_at IS NULL
        AND (completed_at IS NULL OR EXISTS (SELECT 1 FROM retries WHERE submission_id = ${id}))`,
    // From here on none can be requested: a canceled submission has no retry.
    sql`DELETE FROM retry_parts WHERE submission_id = ${id} AND ${isCanceled}`,
    sql`DELETE FROM retries WHERE submission_id = ${id} AND ${isCanceled}`,
    sql`
      UPDATE jobs SET due_at = min(due_at, ${now})
      WHERE due_at IS NOT NULL AND status = 'pending' AND ${isCanceled}
        AND EXISTS (SELECT 1 FROM json_each(members) g WHERE g.value ->> 0 = ${id})`,
  ]);
}
