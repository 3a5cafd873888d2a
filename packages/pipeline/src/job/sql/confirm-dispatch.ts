import { and, eq, or, sql } from "drizzle-orm";
import type { JobId, RequestId } from "@sluice/core";
import { jobs, query, type Database } from "@sluice/db";

/**
 * Records the `request_id` that Workers AI returned for a dispatch. `dueAt` is the first poll. Returns whether the job
 * is dispatched under it. If false, another dispatch was started, and the answer to this one is not used.
 */
export async function confirmDispatch(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number },
  requestId: RequestId,
  dueAt: number,
): Promise<boolean> {
  const rows = await query(
    db,
    db
      .update(jobs)
      .set({
        status: "dispatched",
        requestId,
        dueAt,
        refusals: 0,
        dispatches: sql`json_set(${jobs.dispatches}, '$[#-1].request_id', ${requestId})`,
      })
      .where(
        and(
          eq(jobs.id, job.id),
          eq(jobs.dispatchNumber, job.dispatchNumber),
          or(eq(jobs.status, "dispatching"), and(eq(jobs.status, "dispatched"), eq(jobs.requestId, requestId))),
        ),
      )
      .returning({ id: jobs.id }),
  );
  return rows.length > 0;
}
