import { sql } from "drizzle-orm";
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
import type { AttemptError } from "./postpone-job.ts";

interface OutcomeHead {
  readonly submission: SubmissionId;
  readonly document: string;
}
/** How a document of the job ended. */
export type Outcome =
  | (OutcomeHead & { readonly scores: readonly RankedScore[] })
  | (OutcomeHead & { readonly code: FailureCode; readonly message: string });

/** A job that goes on with some documents of one that ends: a follow-up, or a half. */
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
}

/**
 * Ends a job: outcomes, children, the submissions' counters and the job's own end in one transaction,
 * all guarded by its attempt and status, so that it happens once whoever tries. Outcomes of documents
 * that were deleted meanwhile are dropped. Gives whether it happened here.
 */
export async function finalizeJob(
  db: Database,
  job: { readonly id: JobId; readonly attempt: number; readonly status: "dispatching" | "dispatched" },
  end: JobEnd,
  now: number,
): Promise<boolean> {
  const held = sql`j.id = ${job.id} AND j.attempt = ${job.attempt} AND j.status = ${job.status}`;
  const ended = await transact(db, [
    ...outcomeLists(end.outcomes).map(
      (list) =>
        sql`
        INSERT INTO outcomes (document_id, collection, submission_id, status, model, attempts, job_id, code, message,
          dispatched_at, finalized_at, scores)
        SELECT d.document_id, d.collection, d.submission_id, iif(n.value ->> 3 IS NULL, 'succeeded', 'failed'), j.model,
          j.round, j.id, n.value ->> 3, n.value ->> 4, j.dispatched_at, ${now}, iif(n.value ->> 3 IS NULL, n.value -> 2, NULL)
        FROM jobs j CROSS JOIN json_each(${list}) n
        CROSS JOIN submissions s ON s.id = n.value ->> 0
        CROSS JOIN documents d ON d.document_id = n.value ->> 1 AND d.collection = s.collection AND d.submission_id = s.id
        WHERE ${held}
        ON CONFLICT DO NOTHING`,
    ),
    ...end.children.map(
      (child) =>
        sql`
        INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes,
          due_at, created_at, members)
        SELECT ${child.id}, j.model, j.lane, 'pending', j.id, ${child.round}, counted.documents, counted.contexts,
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
          unconfirmed_dispatches AS unconfirmed
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
        attempts = json_set(attempts, '$[#-1].ended_at', CAST(${now} AS INTEGER)${errorEntry(end.error)})
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

/** Outcomes as JSON lists that D1 can bind: `[submission, document, scores, code, message]` each. */
function outcomeLists(outcomes: readonly Outcome[]): string[] {
  const lists: string[] = [];
  let entries: string[] = [];
  let bytes = 2;
  for (const outcome of outcomes) {
    const entry = JSON.stringify(
      "scores" in outcome
        ? [outcome.submission, outcome.document, outcome.scores]
        : [outcome.submission, outcome.document, null, outcome.code, outcome.message],
    );
    const size = utf8Length(entry) + 1;
    if (entries.length > 0 && bytes + size > MAX_PARAMETER_BYTES) {
      lists.push(`[${entries.join(",")}]`);
      entries = [];
      bytes = 2;
    }
    entries.push(entry);
    bytes += size;
  }
  if (entries.length > 0) lists.push(`[${entries.join(",")}]`);
  return lists;
}
