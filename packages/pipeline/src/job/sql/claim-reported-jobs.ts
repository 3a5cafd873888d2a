import { sql } from "drizzle-orm";
import type { PollWaits } from "../schedule.ts";
import type { RequestId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, query } from "@sluice/db";
import { CLAIMED_COLUMNS, nextPoll, type DispatchedJob } from "./claim-due-jobs.ts";

/**
 * Claims the jobs whose current dispatch is one of these batches, by moving each one's `due_at` to its next poll, so
 * that a run of the poller does not poll it too. One statement, a row read and written per job found; batches that
 * belong to nobody, to an older dispatch or to a job that has ended cost an index lookup.
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
