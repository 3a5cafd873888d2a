import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, transact } from "@sluice/db";
import { memberSubmission } from "../../job/sql/members.ts";

/**
 * Requests a submission's cancellation and ends its retries: documents that they have not queued stay failed. Recording
 * a part, starting a dispatch and queuing a retry check the request. Pending jobs become due, so that the next run
 * checks it. Dispatched jobs finish. A submission whose documents have all ended does not change, unless a retry is
 * about to queue some of them. Reads the lists of open jobs.
 */
export async function cancelSubmission(db: Database, id: SubmissionId, now: Time): Promise<void> {
  const isCanceled = sql`EXISTS (SELECT 1 FROM submissions WHERE id = ${id} AND cancel_requested_at IS NOT NULL)`;
  await transact(db, [
    sql`
      UPDATE submissions SET cancel_requested_at = ${now}
      WHERE id = ${id} AND cancel_requested_at IS NULL
        AND (completed_at IS NULL OR EXISTS (SELECT 1 FROM retries WHERE submission_id = ${id}))`,
    // From here on, no retry can be requested: a canceled submission has none.
    sql`DELETE FROM retry_parts WHERE submission_id = ${id} AND ${isCanceled}`,
    sql`DELETE FROM retries WHERE submission_id = ${id} AND ${isCanceled}`,
    sql`
      UPDATE jobs SET due_at = min(due_at, ${now})
      WHERE due_at IS NOT NULL AND status = 'pending' AND ${isCanceled}
        AND EXISTS (SELECT 1 FROM json_each(members) g WHERE ${memberSubmission} = ${id})`,
  ]);
}
