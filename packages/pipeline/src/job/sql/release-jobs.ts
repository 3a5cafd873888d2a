import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";

/** A job that was recorded or claimed for a dispatch, but not dispatched. */
export interface HeldJob {
  readonly id: JobId;
  readonly dispatchNumber: number;
  readonly status: "pending" | "dispatching";
}

const DISPATCHED = columns("id", "dispatchNumber");
const HELD = columns("id", "dispatchNumber", "status");

/**
 * Makes dispatched jobs that were claimed but not polled due now, the earliest dispatched first. Reads two rows per
 * job.
 */
export async function releasePolls(
  db: Database,
  jobs: readonly { readonly id: JobId; readonly dispatchNumber: number }[],
  now: number,
): Promise<void> {
  const dispatched = DISPATCHED.row(sql`value`);
  await query(
    db,
    sql`
    UPDATE jobs SET due_at = min(${now}, dispatched_at)
    WHERE (id, dispatch_number) IN (
        SELECT ${dispatched("id")}, ${dispatched("dispatchNumber")}
        FROM json_each(${JSON.stringify(jobs.map((job) => DISPATCHED.list(job)))}))
      AND status = 'dispatched' AND due_at > ${now}`,
  );
}

/** Makes jobs due now that their holder leaves to another run. Reads two rows per job. */
export async function releaseJobs(db: Database, jobs: readonly HeldJob[], now: number): Promise<void> {
  const held = HELD.row(sql`value`);
  await query(
    db,
    sql`
    UPDATE jobs SET due_at = ${now}
    WHERE (id, dispatch_number, status) IN (
        SELECT ${held("id")}, ${held("dispatchNumber")}, ${held("status")}
        FROM json_each(${JSON.stringify(jobs.map((job) => HELD.list(job)))}))
      AND paused_by IS NULL AND due_at > ${now}`,
  );
}
