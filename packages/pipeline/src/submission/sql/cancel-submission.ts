import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, transact } from "@sluice/db";

/**
 * Asks for a submission's cancelation. It is read where a part is recorded and where an attempt
 * starts; so that this happens soon, its pending jobs become due. What is dispatched finishes. Reads
 * the lists of open jobs. A submission whose documents have all ended stays as it is.
 */
export async function cancelSubmission(db: Database, id: SubmissionId, now: Time): Promise<void> {
  await transact(db, [
    sql`
      UPDATE submissions SET cancel_requested_at = ${now}
      WHERE id = ${id} AND cancel_requested_at IS NULL AND completed_at IS NULL`,
    sql`
      UPDATE jobs SET due_at = min(due_at, ${now})
      WHERE due_at IS NOT NULL AND status = 'pending'
        AND EXISTS (SELECT 1 FROM submissions WHERE id = ${id} AND cancel_requested_at IS NOT NULL)
        AND EXISTS (SELECT 1 FROM json_each(members) g WHERE g.value ->> 0 = ${id})`,
  ]);
}
