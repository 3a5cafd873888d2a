import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { holdingBy } from "./pause-dispatching.ts";

/** Why a job did not get through, as its dispatches tell it. */
export interface DispatchError {
  /** A class of refusal, or what happened. */
  readonly reason: string;
  /** The service's own words, bounded. */
  readonly message: string;
}

/**
 * What a dispatch adds to its job's counts: `none`, since Workers AI refused its batch or nothing was sent;
 * `unconfirmed`, since it is not known whether Workers AI accepted it; or `repeated`, since Workers AI accepted it
 * and it is given up.
 */
export type DispatchCount = "none" | "unconfirmed" | "repeated";

/** What a dispatch that ended without an answer adds to its job's counts. */
export interface DispatchCounts {
  readonly dispatch: DispatchCount;
  /** Whether the job itself was turned away: a fault of the account or the model says nothing about it. */
  readonly refused: boolean;
}

/**
 * Ends a job's dispatch without an answer and puts the job back to `pending` until `dueAt`. `pausedBy` is the scope of
 * the pause that it waits for, which ends at `dueAt`; where that was resumed meanwhile, or a submission in it was
 * canceled, it is due now. Refusals in a row are bounded, so only those of the job itself are counted.
 */
export async function postponeJob(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number; readonly status: "dispatching" | "dispatched" },
  error: DispatchError,
  counts: DispatchCounts,
  dueAt: number,
  now: number,
  pausedBy: string | null = null,
): Promise<void> {
  const hold =
    pausedBy === null
      ? { pausedBy: sql`NULL`, dueAt: sql`${dueAt}` }
      : holdingBy(sql`${pausedBy}`, now, { until: dueAt, members: sql`members` });
  await query(
    db,
    sql`
    UPDATE jobs SET status = 'pending', request_id = NULL, due_at = ${hold.dueAt}, paused_by = ${hold.pausedBy}, refusals = refusals + ${counts.refused ? 1 : 0},
      unconfirmed_dispatches = unconfirmed_dispatches + ${counts.dispatch === "unconfirmed" ? 1 : 0},
      repeated_dispatches = repeated_dispatches + ${counts.dispatch === "repeated" ? 1 : 0},
      batches = batches - ${counts.dispatch === "none" ? 1 : 0},
      dispatches = json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER),
        '$[#-1].error', json_object('reason', ${error.reason}, 'message', ${error.message}))
    WHERE id = ${job.id} AND dispatch_number = ${job.dispatchNumber} AND status = ${job.status}`,
  );
}
