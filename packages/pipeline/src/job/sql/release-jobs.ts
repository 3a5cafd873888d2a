import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/** A job that was recorded or claimed to be dispatched, and was not. */
export interface HeldJob {
  readonly id: JobId;
  readonly dispatchNumber: number;
  readonly status: "pending" | "dispatching";
}

/**
 * Makes dispatched jobs due at once that were claimed and not polled, those first that were dispatched first. Reads
 * two rows a job.
 */
export async function releasePolls(
  db: Database,
  jobs: readonly { readonly id: JobId; readonly dispatchNumber: number }[],
  now: number,
): Promise<void> {
  await query(
    db,
    sql`
    UPDATE jobs SET due_at = min(${now}, dispatched_at)
    WHERE (id, dispatch_number) IN (
        SELECT value ->> 0, value ->> 1 FROM json_each(${JSON.stringify(jobs.map(({ id, dispatchNumber }) => [id, dispatchNumber]))}))
      AND status = 'dispatched' AND due_at > ${now}`,
  );
}

/** Makes jobs due at once that whoever holds them leaves to another run. Reads two rows a job. */
export async function releaseJobs(db: Database, jobs: readonly HeldJob[], now: number): Promise<void> {
  await query(
    db,
    sql`
    UPDATE jobs SET due_at = ${now}
    WHERE (id, dispatch_number, status) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2
        FROM json_each(${JSON.stringify(jobs.map(({ id, dispatchNumber, status }) => [id, dispatchNumber, status]))}))
      AND paused_by IS NULL AND due_at > ${now}`,
  );
}
