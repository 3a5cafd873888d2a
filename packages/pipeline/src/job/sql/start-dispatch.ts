import { sql, type SQL } from "drizzle-orm";
import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../schedule.ts";
import type { JobId } from "@sluice/core";
import type { JobMembers } from "../job.ts";
import { type Database, transact } from "@sluice/db";
import { firstSubmissionScope, holdingBy, type Holder } from "./pause-dispatching.ts";

/** What a dispatch sends: decided here, in the order here, and never again. */
export interface StartedDispatch {
  readonly dispatchNumber: number;
  /** Empty: nothing was left to send, and the job ended as canceled. */
  readonly members: JobMembers;
}

type StartableJob = { readonly id: JobId; readonly dispatchNumber: number; readonly status: "pending" | "dispatching" };

function heldBy(job: StartableJob): SQL {
  return sql`j.id = ${job.id} AND j.dispatch_number = ${job.dispatchNumber} AND j.status = ${job.status}`;
}

/** A turn is never this far ahead, in milliseconds, unless D1's clock was set back: then it says nothing. */
const MAX_TURN_AHEAD_MS = 60_000;

/** Whether the model of the job `j` may have another batch submitted now. */
function isWithinRate(now: number): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM submit_rates r
    WHERE r.model = j.model AND r.next_at > ${now} AND r.next_at <= ${now + MAX_TURN_AHEAD_MS})`;
}

/**
 * Ends the documents of canceled submissions in a job's list as canceled: two statements of a transaction.
 * `held` guards the job `j`, here and below.
 */
function endCanceled(held: SQL, now: number): SQL[] {
  const canceled = sql`
    SELECT d.document_id, d.collection, s.id AS submission_id, s.model
    FROM jobs j CROSS JOIN json_each(j.members) g
    CROSS JOIN submissions s ON s.id = g.value ->> 0 AND s.cancel_requested_at IS NOT NULL
    CROSS JOIN json_each(g.value, '$[1]') i
    CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
    WHERE ${held} AND NOT EXISTS (SELECT 1 FROM outcomes o
      WHERE o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id)`;
  return [
    sql`
      WITH counted AS MATERIALIZED (SELECT submission_id, count(*) AS count FROM (${canceled}) GROUP BY submission_id)
      UPDATE submissions SET canceled = canceled + counted.count,
        completed_at = CASE WHEN closed_at IS NOT NULL
          AND succeeded + failed + canceled + counted.count + lost = total THEN ${now} END
      FROM counted WHERE submissions.id = counted.submission_id`,
    sql`
      INSERT INTO outcomes (document_id, collection, submission_id, status, model, attempts, finalized_at)
      SELECT document_id, collection, submission_id, 'canceled', model, 0, ${now} FROM (${canceled}) WHERE true
      ON CONFLICT DO NOTHING`,
  ];
}

/**
 * Counts a job's dispatches of which it is not known whether they were run at the submissions that have
 * nothing left in it: those that stay are told when it ends. Reads the job and no more where there were none.
 */
function countAtLeaving(held: SQL): SQL {
  return sql`
    WITH leaving AS MATERIALIZED (
      SELECT s.id AS submission, j.unconfirmed_dispatches + (j.status = 'dispatching') AS unconfirmed
      FROM jobs j CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = g.value ->> 0
      WHERE ${held} AND j.unconfirmed_dispatches + (j.status = 'dispatching') > 0
      GROUP BY s.id
      HAVING s.cancel_requested_at IS NOT NULL OR NOT max(EXISTS (
        SELECT 1 FROM json_each(g.value, '$[1]') i
        CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id)))
    UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches + leaving.unconfirmed
    FROM leaving WHERE submissions.id = leaving.submission`;
}

/** The place in the order of ends of a job that ends as canceled; null where it was never dispatched. */
const sequenceOfCanceled = sql`
  iif(listed.count = 0 AND unconfirmed_dispatches + repeated_dispatches + (status = 'dispatching') > 0,
    (SELECT coalesce(max(finalized_sequence), 0) + 1 FROM jobs WHERE finalized_sequence IS NOT NULL), NULL)`;

/** What is left of a job's list, as the one row `listed`: for `WITH`. */
function listLive(held: SQL): SQL {
  // One subquery a group: GROUP BY would read each document twice more, to sort them. The order that
  // comes out is the order that is sent; it need not be the one before.
  return sql`
    live AS MATERIALIZED (
      SELECT s.id AS submission, (
          SELECT json_object('documents', json_group_array(d.document_id), 'count', count(*),
            'contexts', coalesce(sum(d.context_count), 0), 'bytes', coalesce(sum(d.payload_bytes), 0))
          FROM json_each(g.value, '$[1]') i
          CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
        ) AS part
      FROM jobs j CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = g.value ->> 0 AND s.cancel_requested_at IS NULL
      WHERE ${held}),
    listed AS MATERIALIZED (
      SELECT coalesce(json_group_array(json_array(submission, part -> 'documents'))
          FILTER (WHERE part ->> 'count' > 0), '[]') AS members,
        coalesce(sum(part ->> 'count'), 0) AS count, coalesce(sum(part ->> 'contexts'), 0) AS contexts,
        coalesce(sum(part ->> 'bytes'), 0) AS bytes
      FROM live)`;
}

/**
 * Starts a dispatch of a job, directly before the call: one transaction counts it and its batch, takes
 * the lease and stores the ordered list that is sent. Left out of the list is what was deleted since,
 * or belongs to a canceled submission; the latter's documents end as canceled.
 *
 * `dispatchNumber` is that of the last one known, a guard against anyone who started another. A dispatch found
 * without a `request_id` (status `dispatching`, its lease run out) may have been run: it is counted as
 * unconfirmed. `token` is random and tells this dispatch from another's.
 *
 * The same transaction reserves a place in the rate of submits of the model. Returns `null` if the guard does not
 * hold, or the rate allows no submit now: see `deferJob`.
 */
export async function startDispatch(
  db: Database,
  job: StartableJob,
  lease: { readonly until: number; readonly token: string },
  now: number,
): Promise<StartedDispatch | null> {
  const held = sql`${heldBy(job)} AND ${isWithinRate(now)}`;
  const started = sql`
    id = ${job.id} AND dispatch_number = ${job.dispatchNumber + 1} AND dispatches ->> '$[#-1].token' = ${lease.token}`;
  const [row] = await transact<{ dispatchNumber: number; members: string }>(db, [
    ...endCanceled(held, now),
    countAtLeaving(held),
    sql`
      WITH ${listLive(held)}
      UPDATE jobs SET
        dispatch_number = dispatch_number + 1,
        paused_by = NULL,
        status = iif(listed.count = 0, 'canceled', 'dispatching'),
        due_at = iif(listed.count = 0, NULL, ${lease.until}),
        ended_at = iif(listed.count = 0, ${now}, NULL),
        finalized_sequence = ${sequenceOfCanceled},
        dispatched_at = ${now},
        batches = batches + (listed.count > 0),
        request_id = NULL,
        document_count = listed.count, context_count = listed.contexts, payload_bytes = listed.bytes,
        unconfirmed_dispatches = unconfirmed_dispatches + (status = 'dispatching'),
        dispatches = json_insert(
          iif(json_array_length(dispatches) >= 20, json_remove(dispatches, '$[0]'), dispatches),
          '$[#]', json_object('number', dispatch_number + 1, 'started_at', CAST(${now} AS INTEGER), 'token', ${lease.token})),
        members = listed.members
      FROM listed
      WHERE id IN (SELECT j.id FROM jobs j WHERE ${held})`,
    // Of the dispatch that was started here. Repeated after an error that hid its commit, this reserves one place more.
    sql`
      INSERT INTO submit_rates (model, next_at)
      SELECT model, ${now - SUBMIT_BURST_MS + SUBMIT_SPACING_MS} FROM jobs WHERE ${started} AND status = 'dispatching'
      ON CONFLICT (model) DO UPDATE SET next_at = ${SUBMIT_SPACING_MS}
        + max(iif(next_at > ${now + MAX_TURN_AHEAD_MS}, 0, next_at), ${now - SUBMIT_BURST_MS})`,
    // By its token, so that the dispatch is found too when this is repeated after an error that hid its commit.
    sql`SELECT dispatch_number AS dispatchNumber, members FROM jobs WHERE ${started}`,
  ]);
  return row === undefined
    ? null
    : { dispatchNumber: row.dispatchNumber, members: JSON.parse(row.members) as JobMembers };
}

/** Why a job is deferred: by a pause, by the rate of submits of its model, or `null` to be looked at again now. */
export type Deferral = Holder | "submit_rate" | null;

/**
 * Ends what was canceled in a job that may not be dispatched now, and defers the rest: to the end of a pause, or to
 * when the rate of submits allows one. A pause does not hold a cancelation up. A job that has nothing left ends. Where
 * the reason is over, or is null, the job is pending and due now. Returns when it is due: `null` if it is not the
 * job's current dispatch, or the job ended.
 *
 * A dispatch that is still open is one whose lease has run out: it is given up, so that nobody
 * confirms it any more, and counted as unconfirmed. Its list would not be the one that was sent.
 */
export async function deferJob(
  db: Database,
  job: StartableJob,
  deferral: Deferral,
  now: number,
): Promise<number | null> {
  const held = heldBy(job);
  const { pausedBy, dueAt } = deferredBy(deferral, now);
  const rows = await transact<{ dueAt: number | null }>(db, [
    ...endCanceled(held, now),
    countAtLeaving(held),
    sql`
      WITH ${listLive(held)}
      UPDATE jobs SET
        status = iif(listed.count = 0, 'canceled', 'pending'),
        due_at = iif(listed.count = 0, NULL, ${dueAt}),
        paused_by = iif(listed.count = 0, NULL, ${pausedBy}),
        ended_at = iif(listed.count = 0, ${now}, NULL),
        finalized_sequence = ${sequenceOfCanceled},
        document_count = listed.count, context_count = listed.contexts, payload_bytes = listed.bytes,
        unconfirmed_dispatches = unconfirmed_dispatches + (status = 'dispatching'),
        dispatches = iif(status = 'dispatching', json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER)), dispatches),
        members = listed.members
      FROM listed
      WHERE id = ${job.id} AND dispatch_number = ${job.dispatchNumber} AND status = ${job.status}
      RETURNING due_at AS dueAt`,
  ]);
  return rows[0]?.dueAt ?? null;
}

function deferredBy(deferral: Deferral, now: number): { readonly pausedBy: SQL; readonly dueAt: SQL } {
  if (deferral === null) return { pausedBy: sql`NULL`, dueAt: sql`${now}` };
  if (deferral === "submit_rate") {
    const nextAt = sql`SELECT r.next_at FROM submit_rates r WHERE r.model = jobs.model`;
    return { pausedBy: sql`NULL`, dueAt: sql`max(${now}, coalesce((${nextAt}), 0))` };
  }
  return holdingBy(
    deferral === "first_submission" ? firstSubmissionScope(sql`jobs.members`) : sql`${deferral.scope}`,
    now,
  );
}
