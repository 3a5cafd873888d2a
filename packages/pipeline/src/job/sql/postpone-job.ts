import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { holdingBy } from "./pause-dispatching.ts";

/** Why a dispatch of a job ended without an answer, as `jobs.dispatches` records it. */
export interface DispatchError {
  /** The class of the refusal, or another reason. */
  readonly reason: string;
  /** The message of the service, truncated. */
  readonly message: string;
}

/**
 * What a dispatch without an answer adds to its job's counts: `none`, because Workers AI refused its batch or nothing
 * was sent; `unconfirmed`, because it is unknown whether Workers AI accepted it; or `repeated`, because Workers AI
 * accepted it and it was abandoned.
 */
export type DispatchCount = "none" | "unconfirmed" | "repeated";

/** The increments of the job's counters for a dispatch that ended without an answer. */
export interface DispatchCounts {
  readonly dispatch: DispatchCount;
  /** Whether the job itself was refused. A fault of the account or the model is not about the job. */
  readonly refused: boolean;
}

/**
 * Ends a job's dispatch without an answer and sets the job back to `pending` until `dueAt`. `pausedBy` is the scope of
 * the pause that it waits for, which ends at `dueAt`. If that pause was resumed in the meantime, or a submission in the
 * job was canceled, the job is due now. Consecutive refusals are limited, so only those of the job itself count.
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
