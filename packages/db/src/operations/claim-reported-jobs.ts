import { sql } from "drizzle-orm";
import type { RequestId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";
import type { ClaimedJob } from "./claim-due-jobs.ts";

export type DispatchedJob = Extract<ClaimedJob, { status: "dispatched" }>;

/**
 * Claims the jobs whose current attempt is one of these batches, by moving each one's `due_at` to `nextPollAt`, so
 * that a run of the poller does not poll it too. One statement, a row read and written per job found; batches that
 * belong to nobody, to an older attempt or to a job that has ended cost an index lookup.
 */
export async function claimReportedJobs(
  db: Database,
  requestIds: readonly RequestId[],
  nextPollAt: number,
): Promise<DispatchedJob[]> {
  return query<DispatchedJob>(
    db,
    sql`
    UPDATE jobs INDEXED BY jobs_request SET due_at = ${nextPollAt}
    WHERE status = 'dispatched' AND request_id IN (SELECT value FROM json_each(${JSON.stringify(requestIds)}))
    RETURNING id, model, lane, attempt, round, refusals, batches, context_count AS contexts,
      payload_bytes AS payloadBytes, created_at AS createdAt, status, request_id AS requestId,
      dispatched_at AS dispatchedAt`,
  );
}
