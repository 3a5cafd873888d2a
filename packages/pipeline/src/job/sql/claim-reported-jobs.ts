import { sql } from "drizzle-orm";
import type { PollWaits } from "../schedule.ts";
import type { RequestId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, query } from "@sluice/db";
import { CLAIMED_COLUMNS, type DispatchedJob } from "./claim-due-jobs.ts";
import { nextPoll } from "./next-poll.ts";

/**
 * Claims the jobs whose current dispatch is one of these batches, by moving each `due_at` to the next poll, so that a
 * poller run does not poll it too. One statement. Reads and writes one row per job found. A batch of no job, of an
 * older dispatch or of an ended job costs one index lookup.
 */
export async function claimReportedJobs(
  db: Database,
  requestIds: readonly RequestId[],
  waits: PollWaits,
  now: Time,
): Promise<DispatchedJob[]> {
  return query<DispatchedJob>(
    db,
    sql`
    UPDATE jobs INDEXED BY jobs_request SET due_at = ${nextPoll(waits, now)}
    WHERE status = 'dispatched' AND request_id IN (SELECT value FROM json_each(${JSON.stringify(requestIds)}))
    RETURNING ${CLAIMED_COLUMNS}`,
  );
}
