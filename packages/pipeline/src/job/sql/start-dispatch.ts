import { sql, type SQL } from "drizzle-orm";
import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../schedule.ts";
import type { JobId } from "@sluice/core";
import type { JobMembers } from "../members.ts";
import { type Database, transact } from "@sluice/db";
import { firstSubmissionScope, holdingBy, type Holder } from "./pause-dispatching.ts";
import { isSameDocument } from "../../document/sql/is-document.ts";
import { lastSequence } from "../../platform/sql/high-water-marks.ts";
import { isMemberDocument, MEMBER, memberDocuments, memberSubmission } from "./members.ts";

/** The list that a dispatch sends, in order. It is decided here and never changes. */
export interface StartedDispatch {
  readonly dispatchNumber: number;
  /** Empty if nothing was left to send and the job ended as canceled. */
  readonly members: JobMembers;
}

type StartableJob = { readonly id: JobId; readonly dispatchNumber: number; readonly status: "pending" | "dispatching" };

function heldBy(job: StartableJob): SQL {
  return sql`j.id = ${job.id} AND j.dispatch_number = ${job.dispatchNumber} AND j.status = ${job.status}`;
}

/**
 * Maximum milliseconds that the next submit time is ahead. If it is further ahead, D1's clock was set back and the time
 * is ignored.
 */
const MAX_TURN_AHEAD_MS = 60_000;

/** Whether the submit rate of the model of the job `j` allows a batch now. */
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
    CROSS JOIN submissions s ON s.id = ${memberSubmission} AND s.cancel_requested_at IS NOT NULL
    CROSS JOIN ${memberDocuments} i
    CROSS JOIN documents d ON ${isMemberDocument}
    WHERE ${held} AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE ${isSameDocument(sql`o`, sql`d`)})`;
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
 * Adds a job's unconfirmed dispatches to the submissions that have no documents left in it. For the others this happens
 * when the job ends. Reads only the job if it has none.
 */
function countAtLeaving(held: SQL): SQL {
  return sql`
    WITH leaving AS MATERIALIZED (
      SELECT s.id AS submission, j.unconfirmed_dispatches + (j.status = 'dispatching') AS unconfirmed
      FROM jobs j CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = ${memberSubmission}
      WHERE ${held} AND j.unconfirmed_dispatches + (j.status = 'dispatching') > 0
      GROUP BY s.id
      HAVING s.cancel_requested_at IS NOT NULL OR NOT max(EXISTS (
        SELECT 1 FROM ${memberDocuments} i
        CROSS JOIN documents d ON ${isMemberDocument})))
    UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches + leaving.unconfirmed
    FROM leaving WHERE submissions.id = leaving.submission`;
}

/** The finalized sequence of a job that ends as canceled; null if it was never dispatched. */
const sequenceOfCanceled = sql`
  iif(listed.count = 0 AND unconfirmed_dispatches + repeated_dispatches + (status = 'dispatching') > 0,
    ${lastSequence} + 1, NULL)`;

/** The remaining documents of a job's list, as the single row `listed`, for `WITH`. */
function listLive(held: SQL): SQL {
  // One subquery per submission: GROUP BY would read each document twice more to sort them. The documents are sent in
  // the resulting order, which may differ from the previous one.
  return sql`
    live AS MATERIALIZED (
      SELECT s.id AS submission, (
          SELECT json_object('documents', json_group_array(d.document_id), 'count', count(*),
            'contexts', coalesce(sum(d.context_count), 0), 'bytes', coalesce(sum(d.payload_bytes), 0))
          FROM ${memberDocuments} i
          CROSS JOIN documents d ON ${isMemberDocument}
        ) AS part
      FROM jobs j CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = ${memberSubmission} AND s.cancel_requested_at IS NULL
      WHERE ${held}),
    listed AS MATERIALIZED (
      SELECT coalesce(json_group_array(${MEMBER.array({ submission: sql`submission`, documents: sql`part -> 'documents'` })})
          FILTER (WHERE part ->> 'count' > 0), '[]') AS members,
        coalesce(sum(part ->> 'count'), 0) AS count, coalesce(sum(part ->> 'contexts'), 0) AS contexts,
        coalesce(sum(part ->> 'bytes'), 0) AS bytes
      FROM live)`;
}

/**
 * Starts a dispatch of a job, directly before the call. One transaction counts the dispatch and its batch, takes the
 * lease and stores the ordered list that is sent. The list leaves out deleted documents and documents of canceled
 * submissions, which end as canceled.
 *
 * `dispatchNumber` is the number of the last known dispatch and guards against Workers that started another. A dispatch
 * found without a `request_id` (status `dispatching`, lease expired) may have been run, so it counts as unconfirmed.
 * `token` is random and identifies this dispatch.
 *
 * The same transaction takes a turn in the submit rate of the model. Returns `null` if the guard fails or if the rate
 * allows no submit now: see `deferJob`.
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
    // Only if the dispatch was started here. A repeat after an error that hid the commit takes one more turn.
    sql`
      INSERT INTO submit_rates (model, next_at)
      SELECT model, ${now - SUBMIT_BURST_MS + SUBMIT_SPACING_MS} FROM jobs WHERE ${started} AND status = 'dispatching'
      ON CONFLICT (model) DO UPDATE SET next_at = ${SUBMIT_SPACING_MS}
        + max(iif(next_at > ${now + MAX_TURN_AHEAD_MS}, 0, next_at), ${now - SUBMIT_BURST_MS})`,
    // By its token, so that a repeat after an error that hid the commit finds the dispatch too.
    sql`SELECT dispatch_number AS dispatchNumber, members FROM jobs WHERE ${started}`,
  ]);
  return row === undefined
    ? null
    : { dispatchNumber: row.dispatchNumber, members: JSON.parse(row.members) as JobMembers };
}

/** Why a job is deferred: a pause, the submit rate of its model, or `null` if it is due again now. */
export type Deferral = Holder | "submit_rate" | null;

/**
 * Ends the canceled documents of a job that may not be dispatched now, and defers the rest to the end of a pause, or
 * until the submit rate allows a submit. A pause does not delay a cancellation. A job with nothing left ends. If the
 * reason no longer applies, or is null, the job becomes pending and due now. Returns when it is due, or `null` if this
 * is not the job's current dispatch or the job ended.
 *
 * A dispatch that is still open has an expired lease. It is given up, so that it can no longer be confirmed, and counts
 * as unconfirmed: its list would not match the list that was sent.
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
