import { sql, type SQL } from "drizzle-orm";
import type { DatabaseLevel, JobId, Lane, ModelName, RequestId } from "@sluice/core";
import type { PollWaits } from "../schedule.ts";
import type { Time } from "../../platform/clock.ts";
import { type Database, query, transactAll } from "@sluice/db";
import { noticeSilence } from "../../platform/sql/change-alerts.ts";
import {
  anyLevel,
  anySize,
  recordSize,
  type DatabaseSize,
  type MeasuredSize,
} from "../../platform/sql/database-size.ts";
import { beatOfPoller } from "../../platform/sql/heartbeat.ts";
import { anyDeletion } from "../../submission/sql/request-deletion.ts";
import { anyRetry } from "../../submission/sql/request-retry.ts";
import { releaseEndedPauses } from "./pause-dispatching.ts";
import { nextPoll } from "./next-poll.ts";

interface ClaimedHead {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly dispatchNumber: number;
  readonly round: number;
  readonly refusals: number;
  /** The maximum, over its documents, of batches that may have been accepted, including one in progress. */
  readonly batches: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
  readonly contexts: number;
  /** UTF-8 bytes of its requests. */
  readonly payloadBytes: number;
  readonly createdAt: number;
}
/** A claimed job that is to be dispatched. Its list is read when it is needed. */
export type UndispatchedJob = ClaimedHead & { readonly status: "pending" | "dispatching" };
/** A claimed job whose batch is polled. */
export type DispatchedJob = ClaimedHead & {
  readonly status: "dispatched";
  readonly requestId: RequestId;
  readonly dispatchedAt: number;
};
export type ClaimedJob = UndispatchedJob | DispatchedJob;

/** The limits of a claim. A third of each is for the lane `bulk`, so that interactive work never starves it. */
export interface ClaimLimits {
  /** Dispatched jobs. */
  readonly polls: number;
  readonly pollWaits: PollWaits;
  /** Jobs to be dispatched. A job that was never dispatched counts 1, any other 20. At most 1,000. */
  readonly dispatches: number;
  /** Payload bytes of the jobs to be dispatched. The first of them may be larger. */
  readonly payloadBytes: number;
  /** The end of the lease: until then no other run claims a job that is to be dispatched. */
  readonly leaseUntil: Time;
}

const REPEATED_DISPATCH_UNITS = 20;

/**
 * Claims due jobs, the longest waiting first, by moving each `due_at` ahead, so that other runs do not claim them. One
 * statement. Reads in proportion to the limits.
 */
export async function claimDueJobs(db: Database, limits: ClaimLimits, now: Time): Promise<ClaimedJob[]> {
  return (await query<ClaimedRow>(db, claim(limits, now))).map(claimedJob);
}

/** What the first call of a run finds. */
export interface StartedRun {
  readonly jobs: ClaimedJob[];
  /** The recorded size of the database; `null` before the first record. */
  readonly size: DatabaseSize | null;
  /** The recorded level before this call recorded a size. */
  readonly levelBefore: DatabaseLevel;
  readonly isRetrying: boolean;
  readonly isDeleting: boolean;
  /** The time of the heartbeat before, if it is so old that this call raised an alert. */
  readonly silentSince: number | null;
}

/**
 * Claims due jobs at the start of a run. The same call writes the poller's heartbeat, records the size of the database
 * if a recent one is known, releases the jobs of pauses that expired before `pausesEndedBy`, and reads the size and the
 * level before it, and whether a retry or the deletion of a collection is in progress, which takes one row each.
 */
export async function claimAtStart(
  db: Database,
  limits: ClaimLimits,
  now: Time,
  pausesEndedBy: Time,
  measured: MeasuredSize | null = null,
): Promise<StartedRun> {
  const results = await transactAll(db, [
    noticeSilence(now),
    beatOfPoller(db, now),
    ...(measured === null ? [] : [anyLevel, recordSize(measured, now)]),
    ...releaseEndedPauses(pausesEndedBy, now),
    claim(limits, now),
    anySize(now),
    sql`SELECT EXISTS (${anyRetry}) AS isRetrying, EXISTS (${anyDeletion}) AS isDeleting`,
  ]);
  const [claimed, sizes, [open]] = results.slice(-3) as [
    ClaimedRow[],
    DatabaseSize[],
    { isRetrying: 0 | 1; isDeleting: 0 | 1 }[],
  ];
  const [before] = measured === null ? sizes : ((results[2] ?? []) as readonly Pick<DatabaseSize, "level">[]);
  const [silence] = (results[0] ?? []) as readonly { readonly since?: number }[];
  return {
    jobs: claimed.map(claimedJob),
    size: sizes[0] ?? null,
    levelBefore: before?.level ?? "normal",
    isRetrying: open?.isRetrying === 1,
    isDeleting: open?.isDeleting === 1,
    silentSince: silence?.since ?? null,
  };
}

function claim(limits: ClaimLimits, now: Time): SQL {
  // The index contains the expression exactly as written here.
  const due = (lane: Lane, isDispatched: 0 | 1) => sql`
    lane = ${lane} AND (status = 'dispatched') = ${sql.raw(String(isDispatched))}
    AND due_at IS NOT NULL AND due_at <= ${now}`;
  const polled = (lane: Lane, limit: number) => sql`
    SELECT id FROM (SELECT id FROM jobs INDEXED BY jobs_due WHERE ${due(lane, 1)} ORDER BY due_at LIMIT ${limit})`;
  const waiting = (lane: Lane, limit: number) => sql`
    SELECT id, place, bytes FROM (
      SELECT id, payload_bytes AS bytes, row_number() OVER (ORDER BY due_at) AS place,
        sum(iif(dispatch_number = 0, 1, ${REPEATED_DISPATCH_UNITS})) OVER (ORDER BY due_at ROWS UNBOUNDED PRECEDING) AS units
      FROM (
        SELECT id, due_at, dispatch_number, payload_bytes FROM jobs INDEXED BY jobs_due
        WHERE ${due(lane, 0)} ORDER BY due_at LIMIT ${limit}))
    WHERE units <= ${limit} OR place = 1`;
  const [polls, dispatches] = [shared(limits.polls), shared(limits.dispatches)];
  return sql`
    UPDATE jobs SET due_at = iif(status = 'dispatched', ${nextPoll(limits.pollWaits, now)}, CAST(${limits.leaseUntil} AS INTEGER))
    WHERE id IN (
      ${polled("interactive", polls.interactive)} UNION ALL ${polled("bulk", polls.bulk)}
      UNION ALL
      SELECT id FROM (
        SELECT id, bytes, sum(bytes) OVER (ORDER BY place, lane ROWS UNBOUNDED PRECEDING) AS sum FROM (
          SELECT 0 AS lane, * FROM (${waiting("interactive", dispatches.interactive)})
          UNION ALL
          SELECT 1 AS lane, * FROM (${waiting("bulk", dispatches.bulk)})))
      WHERE sum <= ${limits.payloadBytes} OR sum = bytes)
    RETURNING ${CLAIMED_COLUMNS}`;
}

function claimedJob({ status, requestId, dispatchedAt, ...head }: ClaimedRow): ClaimedJob {
  return status === "dispatched" && requestId !== null && dispatchedAt !== null
    ? { ...head, status, requestId, dispatchedAt }
    : { ...head, status: status === "dispatching" ? "dispatching" : "pending" };
}

type ClaimedRow = ClaimedHead & { status: string; requestId: RequestId | null; dispatchedAt: number | null };

/** The columns that a claim returns for each job. */
export const CLAIMED_COLUMNS = sql`
  id, model, lane, dispatch_number AS dispatchNumber, round, refusals, batches, halvings, context_count AS contexts, payload_bytes AS payloadBytes,
  created_at AS createdAt, status, request_id AS requestId, dispatched_at AS dispatchedAt`;

function shared(limit: number): Readonly<Record<Lane, number>> {
  const bulk = Math.ceil(limit / 3);
  return { interactive: limit - bulk, bulk };
}
