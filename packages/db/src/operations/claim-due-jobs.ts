import { sql } from "drizzle-orm";
import type { JobId, Lane, ModelName, RequestId } from "@sluice/core";
import type { Time } from "../clock.ts";
import type { Database } from "../database.ts";
import { query, transact } from "../statements.ts";
import { beatOfPoller } from "./heartbeat.ts";
import { releaseEndedPauses } from "./pause-dispatching.ts";

interface ClaimedHead {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly attempt: number;
  readonly round: number;
  readonly refusals: number;
  /** Batches of one of its documents that may have been accepted, one in progress included. */
  readonly batches: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
  readonly contexts: number;
  /** UTF-8 bytes of its requests. */
  readonly payloadBytes: number;
  readonly createdAt: number;
}
/** A job that this run holds, without its list: that is read when it is needed. */
export type ClaimedJob =
  | (ClaimedHead & { readonly status: "pending" | "dispatching" })
  | (ClaimedHead & { readonly status: "dispatched"; readonly requestId: RequestId; readonly dispatchedAt: number });

export interface ClaimLimits {
  readonly interactive: number;
  readonly bulk: number;
  /** Until when no other run takes a job that is to be dispatched. */
  readonly dispatchLeaseUntil: Time;
  /** When a dispatched job is due again, should the service still be busy with it. */
  readonly nextPollAt: Time;
}

/**
 * Takes the jobs that are due, those that wait longest first, by moving each one's `due_at` ahead:
 * a run beside this finds them taken. One statement; reads index entries of due jobs only. `firstOfRun`:
 * in the same call, the poller's heartbeat, and the release of what pauses held that ended by themselves before
 * `pausesEndedBy`.
 */
export async function claimDueJobs(
  db: Database,
  limits: ClaimLimits,
  now: Time,
  firstOfRun: { readonly pausesEndedBy: Time } | null = null,
): Promise<ClaimedJob[]> {
  const due = (lane: Lane, limit: number) => sql`
    SELECT id FROM (SELECT id FROM jobs WHERE lane = ${lane} AND due_at IS NOT NULL AND due_at <= ${now}
      ORDER BY due_at LIMIT ${limit})`;
  const claim = sql`
    UPDATE jobs SET due_at = iif(status = 'dispatched', ${limits.nextPollAt}, ${limits.dispatchLeaseUntil})
    WHERE id IN (${due("interactive", limits.interactive)} UNION ALL ${due("bulk", limits.bulk)})
    RETURNING id, model, lane, attempt, round, refusals, batches, halvings, context_count AS contexts, payload_bytes AS payloadBytes, created_at AS createdAt,
      status, request_id AS requestId, dispatched_at AS dispatchedAt`;
  type ClaimedRow = ClaimedHead & { status: string; requestId: RequestId | null; dispatchedAt: number | null };
  const rows =
    firstOfRun === null
      ? await query<ClaimedRow>(db, claim)
      : await transact<ClaimedRow>(db, [
          beatOfPoller(now),
          ...releaseEndedPauses(firstOfRun.pausesEndedBy, now),
          claim,
        ]);
  return rows.map(({ status, requestId, dispatchedAt, ...head }) =>
    status === "dispatched" && requestId !== null && dispatchedAt !== null
      ? { ...head, status, requestId, dispatchedAt }
      : { ...head, status: status === "dispatching" ? "dispatching" : "pending" },
  );
}
