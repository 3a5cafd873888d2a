import { sql, type SQL } from "drizzle-orm";
import {
  MAX_PARAMETER_BYTES,
  utf8Length,
  type FailureCode,
  type JobId,
  type JobMembers,
  type RankedScore,
  type SubmissionId,
} from "@sluice/core";
import type { Database } from "../database.ts";
import { transact } from "../statements.ts";
import type { AttemptError, DispatchCount } from "./postpone-job.ts";

interface OutcomeHead {
  readonly submission: SubmissionId;
  readonly document: string;
}
/** How a document of the job ended. */
export type Outcome =
  | (OutcomeHead & { readonly scores: readonly RankedScore[] })
  | (OutcomeHead & { readonly code: FailureCode; readonly message: string });

/**
 * A job that goes on with some documents of one that ends: a follow-up, or a piece. It inherits how many batches
 * they may have been in.
 */
export interface ChildJob {
  readonly id: JobId;
  readonly round: number;
  readonly members: JobMembers;
  readonly dueAt: number;
}

export interface JobEnd {
  readonly status: "succeeded" | "failed" | "split";
  readonly outcomes: readonly Outcome[];
  /** Each document of the job that has no outcome here is in exactly one of these. */
  readonly children: readonly ChildJob[];
  readonly tokens: number | null;
  readonly error: AttemptError | null;
  /** What the open attempt adds to the job's counts, if that is not one batch that was accepted. */
  readonly dispatch?: Exclude<DispatchCount, "repeated">;
}

/**
 * Ends a job, a pending one without a change to its attempts: outcomes, children, the submissions' counters and the job's own end in one transaction,
 * all guarded by its attempt and status, so that it happens once whoever tries. Outcomes of documents
 * that were deleted meanwhile are dropped. Gives whether it happened here.
 */
export async function finalizeJob(
  db: Database,
  job: { readonly id: JobId; readonly attempt: number; readonly status: "pending" | "dispatching" | "dispatched" },
  end: JobEnd,
  now: number,
): Promise<boolean> {
  const refused = end.dispatch === "none" ? 1 : 0;
  const unconfirmed = end.dispatch === "unconfirmed" ? 1 : 0;
  const held = sql`j.id = ${job.id} AND j.attempt = ${job.attempt} AND j.status = ${job.status}`;
  const ended = await transact(db, [
    ...outcomeLists(end.outcomes, scoresOf).map((list) =>
      insertOutcomes(held, list, now, sql`'succeeded', NULL, NULL, n.value`),
    ),
    ...outcomeLists(end.outcomes, failureOf).map((list) =>
      insertOutcomes(held, list, now, sql`'failed', n.value ->> 0, n.value ->> 1, NULL`),
    ),
    ...end.children.map(
      (child) =>
        sql`
        INSERT INTO jobs (id, model, lane, status, parent_id, round, batches, halvings, document_count,
          context_count, payload_bytes, due_at, created_at, members)
        SELECT ${child.id}, j.model, j.lane, 'pending', j.id, ${child.round}, j.batches - ${refused}, j.halvings, counted.documents, counted.contexts,
          counted.bytes, ${child.dueAt}, ${now}, ${JSON.stringify(child.members)}
        FROM jobs j CROSS JOIN (
          SELECT count(*) AS documents, coalesce(sum(d.context_count), 0) AS contexts, coalesce(sum(d.payload_bytes), 0) AS bytes
          FROM json_each(${JSON.stringify(child.members)}) g
          CROSS JOIN submissions s ON s.id = g.value ->> 0
          CROSS JOIN json_each(g.value, '$[1]') i
          CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
        ) counted
        WHERE ${held}
        ON CONFLICT DO NOTHING`,
    ),
    // Counts what the statements above wrote under this job's id, not what was meant to be written.
    sql`
      WITH grouped AS MATERIALIZED (
        SELECT s.id AS submission, j.payload_bytes, j.unconfirmed_dispatches, (
            SELECT json_object('bytes', coalesce(sum(d.payload_bytes), 0),
              'succeeded', count(*) FILTER (WHERE o.status = 'succeeded'),
              'failed', count(*) FILTER (WHERE o.status = 'failed'))
            FROM json_each(g.value, '$[1]') i
            CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
            LEFT JOIN outcomes o
              ON o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id
              AND o.job_id = j.id
          ) AS part
        FROM jobs j CROSS JOIN json_each(j.members) g
        CROSS JOIN submissions s ON s.id = g.value ->> 0
        WHERE ${held}),
      counted AS MATERIALIZED (
        SELECT submission, total(part ->> 'bytes') / max(1, payload_bytes) AS share,
          sum(part ->> 'succeeded') AS succeeded, sum(part ->> 'failed') AS failed,
          unconfirmed_dispatches + ${unconfirmed} AS unconfirmed
        FROM grouped GROUP BY submission)
      UPDATE submissions SET
        succeeded = submissions.succeeded + counted.succeeded,
        failed = submissions.failed + counted.failed,
        jobs = jobs + 1,
        tokens = tokens + CAST(round(counted.share * ${end.tokens ?? 0}) AS INTEGER),
        unconfirmed_dispatches = unconfirmed_dispatches + counted.unconfirmed,
        completed_at = CASE WHEN closed_at IS NOT NULL
          AND submissions.succeeded + counted.succeeded + submissions.failed + counted.failed + canceled + lost = total
          THEN ${now} END
      FROM counted WHERE submissions.id = counted.submission`,
    sql`
      UPDATE jobs AS j SET status = ${end.status}, due_at = NULL, ended_at = ${now}, tokens = ${end.tokens},
        finalized_sequence = (SELECT coalesce(max(finalized_sequence), 0) + 1 FROM jobs WHERE finalized_sequence IS NOT NULL),
        batches = batches - ${refused}, unconfirmed_dispatches = unconfirmed_dispatches + ${unconfirmed},
        attempts = iif(status = 'pending', attempts,
          json_set(attempts, '$[#-1].ended_at', CAST(${now} AS INTEGER)${errorEntry(end.error)}))
      WHERE ${held}
      RETURNING id`,
  ]);
  return ended.length > 0;
}

function errorEntry(error: AttemptError | null) {
  return error === null
    ? sql``
    : sql`, '$[#-1].error', json_object('reason', ${error.reason}, 'message', ${error.message})`;
}

const scoresOf = (outcome: Outcome) => ("scores" in outcome ? outcome.scores : undefined);
const failureOf = (outcome: Outcome) => ("code" in outcome ? [outcome.code, outcome.message] : undefined);

/**
 * Inserts a list of `outcomeLists`. A document's id and scores are a key and a value of it: so SQLite gives
 * them out as they stand, where a list of lists would be written and parsed anew for each of its fields.
 */
function insertOutcomes(held: SQL, list: string, now: number, outcome: SQL): SQL {
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT s.id AS submission, s.collection, g.value AS outcomes
      FROM json_each(${list}) g CROSS JOIN submissions s ON s.id = g.key)
    INSERT INTO outcomes (document_id, collection, submission_id, model, attempts, job_id, dispatched_at, finalized_at,
      status, code, message, scores)
    SELECT d.document_id, d.collection, d.submission_id, j.model, j.round, j.id, j.dispatched_at, ${now}, ${outcome}
    FROM jobs j CROSS JOIN listed l CROSS JOIN json_each(l.outcomes) n
    CROSS JOIN documents d ON d.document_id = n.key AND d.collection = l.collection AND d.submission_id = l.submission
    WHERE ${held}
    ON CONFLICT DO NOTHING`;
}
/** Outcomes as JSON that D1 can bind: `{ submission: { document: value } }`, of those that have a value. */
function outcomeLists(outcomes: readonly Outcome[], valueOf: (outcome: Outcome) => unknown): string[] {
  const lists: string[] = [];
  let groups = new Map<SubmissionId, string[]>();
  let bytes = 2;
  const close = (): void => {
    const written = Array.from(groups, ([submission, entries]) => `"${submission}":{${entries.join(",")}}`);
    if (written.length > 0) lists.push(`{${written.join(",")}}`);
    groups = new Map();
    bytes = 2;
  };
  for (const outcome of outcomes) {
    const value = valueOf(outcome);
    if (value === undefined) continue;
    const entry = `${JSON.stringify(outcome.document)}:${JSON.stringify(value)}`;
    const size = utf8Length(entry) + GROUP_BYTES;
    if (bytes + size > MAX_PARAMETER_BYTES) close();
    const group = groups.get(outcome.submission);
    if (group === undefined) groups.set(outcome.submission, [entry]);
    else group.push(entry);
    bytes += size;
  }
  close();
  return lists;
}

/** A submission's id in quotes, braces, colon and commas: at most that comes with an outcome. */
const GROUP_BYTES = 48;
