import { sql, type SQL } from "drizzle-orm";
import { MAX_PARAMETER_BYTES, utf8Length, type FailureCode, type JobId, type SubmissionId } from "@sluice/core";
import type { JobMembers } from "../../job/job.ts";
import type { RankedScore } from "../rank-scores.ts";
import { type Database, transact } from "@sluice/db";
import type { DispatchError, DispatchCount } from "../../job/sql/postpone-job.ts";

interface OutcomeHead {
  readonly submission: SubmissionId;
  readonly document: string;
}
/** How a document of the job ended. */
export type Outcome =
  | (OutcomeHead & { readonly scores: readonly RankedScore[] })
  | (OutcomeHead & { readonly code: FailureCode; readonly message: string });

/**
 * A job that takes over some documents of one that ends: a follow-up, or a piece. It inherits how many batches they
 * may have been in.
 */
export interface ChildJob {
  readonly id: JobId;
  readonly round: number;
  readonly members: JobMembers;
  readonly dueAt: number;
  /** Added to the parent's count, which the child inherits; 0 by default. */
  readonly halvings?: number;
}

export interface JobEnd {
  readonly status: "succeeded" | "failed" | "split";
  readonly outcomes: readonly Outcome[];
  /** Each document of the job that has no outcome here is in exactly one of these. */
  readonly children: readonly ChildJob[];
  readonly tokens: number | null;
  readonly error: DispatchError | null;
  /** What the open dispatch adds to the job's counts, if that is not one batch that was accepted. */
  readonly dispatch?: Exclude<DispatchCount, "repeated">;
}

/** A job's dispatch that ends, and how. */
export interface EndingJob {
  readonly job: {
    readonly id: JobId;
    readonly dispatchNumber: number;
    /** `pending`: no dispatch is open, and none is changed. */
    readonly status: "pending" | "dispatching" | "dispatched";
  };
  readonly end: JobEnd;
}

/**
 * Ends jobs, each listed once: outcomes, children, the submissions' counters and the jobs' own ends in one
 * transaction. Each job is guarded by its own dispatch and status, so that it ends once no matter who tries, and the
 * others are unaffected. Outcomes of documents that were deleted meanwhile are dropped. Returns the jobs that
 * ended here. Makes two statements, and one for each 1.9 MB of scores, failures and children.
 */
export async function finalizeJobs(
  db: Database,
  ending: readonly EndingJob[],
  now: number,
): Promise<ReadonlySet<JobId>> {
  if (new Set(ending.map(({ job }) => job.id)).size < ending.length)
    throw new RangeError("finalizeJobs takes each job once");
  if (ending.length === 0) return new Set();
  const ends = JSON.stringify(
    ending.map(({ job, end }) => {
      const counts = [refusedBatches(end), end.dispatch === "unconfirmed" ? 1 : 0];
      return [...keyOf(job), end.status, end.tokens, end.error?.reason, end.error?.message, ...counts];
    }),
  );
  const ended = await transact<{ id: JobId }>(db, [
    ...outcomeLists(ending, scoresOf).map((list) => insertOutcomes(list, now, sql`'succeeded', NULL, NULL, n.value`)),
    ...outcomeLists(ending, failureOf).map((list) =>
      insertOutcomes(list, now, sql`'failed', n.value ->> 0, n.value ->> 1, NULL`),
    ),
    ...childLists(ending).map((list) => insertChildren(list, now)),
    countEnds(ends, now),
    // The numbers follow one another, in the order given. All are read before the first is written.
    sql`
      UPDATE jobs AS j SET status = ending.status, due_at = NULL, ended_at = ${now}, tokens = ending.tokens,
        finalized_sequence = ending.sequence,
        batches = batches - ending.refused, unconfirmed_dispatches = unconfirmed_dispatches + ending.unconfirmed,
        dispatches = CASE WHEN j.status = 'pending' THEN dispatches
          WHEN ending.reason IS NULL THEN json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER))
          ELSE json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER),
            '$[#-1].error', json_object('reason', ending.reason, 'message', ending.message)) END
      FROM (
        SELECT j.id, e.value ->> 3 AS status, e.value ->> 4 AS tokens, e.value ->> 5 AS reason, e.value ->> 6 AS message,
          e.value ->> 7 AS refused, e.value ->> 8 AS unconfirmed,
          (SELECT coalesce(max(finalized_sequence), 0) FROM jobs WHERE finalized_sequence IS NOT NULL)
            + row_number() OVER (ORDER BY e.key) AS sequence
        FROM json_each(${ends}) e CROSS JOIN jobs j ON ${isHeld(sql`e.value`)}) ending
      WHERE j.id = ending.id
      RETURNING id`,
  ]);
  return new Set(ended.map(({ id }) => id));
}

/** What guards a job: the first three values of every entry about it. */
function keyOf({ id, dispatchNumber, status }: EndingJob["job"]): readonly [JobId, number, string] {
  return [id, dispatchNumber, status];
}

/** Whether the job `j` still has the dispatch that an entry is about. */
function isHeld(entry: SQL): SQL {
  return sql`j.id = ${entry} ->> 0 AND j.dispatch_number = ${entry} ->> 1 AND j.status = ${entry} ->> 2`;
}

/** Counts what the statements before wrote under the jobs' ids, not what was meant to be written. */
function countEnds(ends: string, now: number): SQL {
  // By submission last: UPDATE ... FROM applies one row only to each that it changes. A job's tokens are rounded
  // job by job, so that they do not depend on what else ends with it.
  return sql`
    WITH grouped AS MATERIALIZED (
      SELECT s.id AS submission, e.key AS ending, j.payload_bytes, e.value ->> 4 AS tokens,
        j.unconfirmed_dispatches + (e.value ->> 8) AS unconfirmed_dispatches, (
          SELECT json_object('bytes', coalesce(sum(d.payload_bytes), 0),
            'succeeded', count(*) FILTER (WHERE o.status = 'succeeded'),
            'failed', count(*) FILTER (WHERE o.status = 'failed'))
          FROM json_each(g.value, '$[1]') i
          CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
          LEFT JOIN outcomes o
            ON o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id
            AND o.job_id = j.id
        ) AS part
      FROM json_each(${ends}) e CROSS JOIN jobs j ON ${isHeld(sql`e.value`)}
      CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = g.value ->> 0),
    shared AS MATERIALIZED (
      SELECT submission, sum(part ->> 'succeeded') AS succeeded, sum(part ->> 'failed') AS failed,
        CAST(round(total(part ->> 'bytes') / max(1, payload_bytes) * coalesce(tokens, 0)) AS INTEGER) AS tokens,
        unconfirmed_dispatches AS unconfirmed
      FROM grouped GROUP BY submission, ending),
    counted AS MATERIALIZED (
      SELECT submission, sum(succeeded) AS succeeded, sum(failed) AS failed, count(*) AS jobs, sum(tokens) AS tokens,
        sum(unconfirmed) AS unconfirmed
      FROM shared GROUP BY submission)
    UPDATE submissions SET
      succeeded = submissions.succeeded + counted.succeeded,
      failed = submissions.failed + counted.failed,
      jobs = submissions.jobs + counted.jobs,
      tokens = submissions.tokens + counted.tokens,
      unconfirmed_dispatches = unconfirmed_dispatches + counted.unconfirmed,
      completed_at = CASE WHEN closed_at IS NOT NULL
        AND submissions.succeeded + counted.succeeded + submissions.failed + counted.failed + canceled + lost = total
        THEN ${now} END
    FROM counted WHERE submissions.id = counted.submission`;
}

/** Inserts the jobs of a list `[[job, dispatch, status, id, round, due at, refused batches, halvings, members], …]`. */
function insertChildren(list: string, now: number): SQL {
  // `LIMIT -1` keeps the inner query apart, else each value taken from an entry writes the entry anew.
  return sql`
    WITH counted AS MATERIALIZED (
      SELECT j.id AS parent, j.model, j.lane, j.batches, j.halvings, e.entry, (
          SELECT json_array(count(*), coalesce(sum(d.context_count), 0), coalesce(sum(d.payload_bytes), 0))
          FROM json_each(e.entry, '$[8]') g
          CROSS JOIN submissions s ON s.id = g.value ->> 0
          CROSS JOIN json_each(g.value, '$[1]') i
          CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
        ) AS count
      FROM (SELECT value AS entry FROM json_each(${list}) LIMIT -1) e
      CROSS JOIN jobs j ON ${isHeld(sql`e.entry`)})
    INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes,
      due_at, created_at, batches, halvings, members)
    SELECT entry ->> 3, model, lane, 'pending', parent, entry ->> 4, count ->> 0, count ->> 1, count ->> 2,
      entry ->> 5, ${now}, batches - (entry ->> 6), halvings + (entry ->> 7), entry -> 8
    FROM counted WHERE true
    ON CONFLICT DO NOTHING`;
}

/** How many batches the job's documents were in less than its row counts: that of the open dispatch, if it was refused. */
function refusedBatches({ dispatch }: JobEnd): number {
  return dispatch === "none" ? 1 : 0;
}

/** Children as JSON that D1 can bind. */
function childLists(ending: readonly EndingJob[]): string[] {
  const entries = ending.flatMap(({ job, end }) =>
    end.children.map(({ id, round, dueAt, halvings = 0, members }) =>
      JSON.stringify([...keyOf(job), id, round, dueAt, refusedBatches(end), halvings, members]),
    ),
  );
  return bounded(entries, (entry) => utf8Length(entry) + 1).map((list) => `[${list.join(",")}]`);
}

const scoresOf = (outcome: Outcome) => ("scores" in outcome ? outcome.scores : undefined);
const failureOf = (outcome: Outcome) => ("code" in outcome ? [outcome.code, outcome.message] : undefined);

/**
 * Inserts a list of `outcomeLists`. A document's id and scores are a key and a value of it: so SQLite gives
 * them out as they stand, where a list of lists would be written and parsed anew for each of its fields.
 */
function insertOutcomes(list: string, now: number, outcome: SQL): SQL {
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT j.id AS job, j.model, j.round, j.dispatched_at, s.id AS submission, s.collection, g.value AS outcomes
      FROM (SELECT value AS entry FROM json_each(${list}) LIMIT -1) e
      CROSS JOIN jobs j ON ${isHeld(sql`e.entry`)}
      CROSS JOIN json_each(e.entry, '$[3]') g CROSS JOIN submissions s ON s.id = g.key)
    INSERT INTO outcomes (document_id, collection, submission_id, model, attempts, job_id, dispatched_at, finalized_at,
      status, code, message, scores)
    SELECT d.document_id, d.collection, d.submission_id, l.model, l.round, l.job, l.dispatched_at, ${now}, ${outcome}
    FROM listed l CROSS JOIN json_each(l.outcomes) n
    CROSS JOIN documents d ON d.document_id = n.key AND d.collection = l.collection AND d.submission_id = l.submission
    WHERE true
    ON CONFLICT DO NOTHING`;
}

/** An outcome's place in a list, and the JSON of its document and value. */
interface Entry {
  readonly job: EndingJob["job"];
  readonly submission: SubmissionId;
  readonly text: string;
}

/** A submission's id in quotes, a job's key, brackets, colon and commas: an outcome's entry comes with at most that. */
const GROUP_BYTES = 150;

/**
 * Outcomes as JSON that D1 can bind: `[[job, dispatch, status, { submission: { document: value } }], …]`, of those
 * that have a value.
 */
function outcomeLists(ending: readonly EndingJob[], valueOf: (outcome: Outcome) => unknown): string[] {
  const entries: Entry[] = [];
  for (const { job, end } of ending) {
    for (const outcome of end.outcomes) {
      const value = valueOf(outcome);
      if (value === undefined) continue;
      const text = `${JSON.stringify(outcome.document)}:${JSON.stringify(value)}`;
      entries.push({ job, submission: outcome.submission, text });
    }
  }
  return bounded(entries, ({ text }) => utf8Length(text) + GROUP_BYTES).map((list) => {
    const jobs = [...Map.groupBy(list, ({ job }) => job)].map(([job, ofJob]) => {
      const groups = [...Map.groupBy(ofJob, ({ submission }) => submission)].map(
        ([submission, group]) => `"${submission}":{${group.map(({ text }) => text).join(",")}}`,
      );
      return `${JSON.stringify(keyOf(job)).slice(0, -1)},{${groups.join(",")}}]`;
    });
    return `[${jobs.join(",")}]`;
  });
}

/** Cuts entries into consecutive lists of at most `MAX_PARAMETER_BYTES`, brackets included. */
function bounded<T>(entries: readonly T[], bytesOf: (entry: T) => number): T[][] {
  const lists: T[][] = [];
  let bytes = Infinity;
  for (const entry of entries) {
    const size = bytesOf(entry);
    if (bytes + size > MAX_PARAMETER_BYTES) {
      lists.push([]);
      bytes = 2;
    }
    lists.at(-1)?.push(entry);
    bytes += size;
  }
  return lists;
}
