import { sql, type SQL } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import type { EndingJob } from "../../job/job-end.ts";
import { isDocument, isSameDocument } from "../../document/sql/is-document.ts";
import { isMemberDocument, memberDocuments, memberSubmission } from "../../job/sql/members.ts";
import { columns, type Row } from "../../platform/sql/columns.ts";
import { lastSequence } from "../../platform/sql/high-water-marks.ts";
import {
  CHILD,
  childLists,
  ENDING,
  endingList,
  FAILURE,
  failureOf,
  OUTCOMES,
  outcomeLists,
  scoresOf,
  type GUARD,
} from "./ending-lists.ts";

/** The weight of a job, as a statement counts it. */
const COUNT = columns("documents", "contexts", "bytes");

/** The entry `e` of a list of ends. */
const ended = ENDING.row(sql`e.value`);
const failure = FAILURE.row(sql`n.value`);

/**
 * Ends jobs, each listed once: writes outcomes, children, the submissions' counters and the jobs' own ends in one
 * transaction. Each job is guarded by its own dispatch and status, so it ends once no matter how many Workers try, and
 * the others are unaffected. Outcomes of deleted documents are dropped. Returns the jobs that ended here. Sends two
 * statements, and one for each 1.9 MB of scores, failures and children.
 */
export async function finalizeJobs(
  db: Database,
  ending: readonly EndingJob[],
  now: number,
): Promise<ReadonlySet<JobId>> {
  if (new Set(ending.map(({ job }) => job.id)).size < ending.length)
    throw new RangeError("finalizeJobs accepts each job only once");
  if (ending.length === 0) return new Set();
  const ends = endingList(ending);
  const rows = await transact<{ id: JobId }>(db, [
    ...outcomeLists(ending, scoresOf).map((list) => insertOutcomes(list, now, sql`'succeeded', NULL, NULL, n.value`)),
    ...outcomeLists(ending, failureOf).map((list) =>
      insertOutcomes(list, now, sql`'failed', ${failure("code")}, ${failure("message")}, NULL`),
    ),
    ...childLists(ending).map((list) => insertChildren(list, now)),
    countEnds(ends, now),
    // The sequence numbers are consecutive, in the given order. All are read before the first is written.
    sql`
      UPDATE jobs AS j SET status = ending.status, due_at = NULL, ended_at = ${now}, tokens = ending.tokens,
        finalized_sequence = ending.sequence,
        batches = batches - ending.refused, unconfirmed_dispatches = unconfirmed_dispatches + ending.unconfirmed,
        dispatches = CASE WHEN j.status = 'pending' THEN dispatches
          WHEN ending.reason IS NULL THEN json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER))
          ELSE json_set(dispatches, '$[#-1].ended_at', CAST(${now} AS INTEGER),
            '$[#-1].error', json_object('reason', ending.reason, 'message', ending.message)) END
      FROM (
        SELECT j.id, ${ended("status")} AS status, ${ended("tokens")} AS tokens, ${ended("reason")} AS reason,
          ${ended("message")} AS message, ${ended("refused")} AS refused, ${ended("unconfirmed")} AS unconfirmed,
          ${lastSequence} + row_number() OVER (ORDER BY e.key) AS sequence
        FROM json_each(${ends}) e CROSS JOIN jobs j ON ${isHeld(ended)}) ending
      WHERE j.id = ending.id
      RETURNING id`,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Whether the job `j` still has the dispatch of an entry. */
function isHeld(entry: Row<(typeof GUARD)[number]>): SQL {
  return sql`j.id = ${entry("job")} AND j.dispatch_number = ${entry("dispatchNumber")} AND j.status = ${entry("jobStatus")}`;
}

/** Counts the outcomes that the earlier statements actually wrote under the jobs' ids. */
function countEnds(ends: string, now: number): SQL {
  // Grouped by submission last: UPDATE ... FROM applies only one row to each row that it changes. Tokens are rounded
  // per job, so that they do not depend on the other jobs that end.
  return sql`
    WITH grouped AS MATERIALIZED (
      SELECT s.id AS submission, e.key AS ending, j.payload_bytes, ${ended("tokens")} AS tokens,
        j.unconfirmed_dispatches + (${ended("unconfirmed")}) AS unconfirmed_dispatches, (
          SELECT json_object('bytes', coalesce(sum(d.payload_bytes), 0),
            'succeeded', count(*) FILTER (WHERE o.status = 'succeeded'),
            'failed', count(*) FILTER (WHERE o.status = 'failed'))
          FROM ${memberDocuments} i
          CROSS JOIN documents d ON ${isMemberDocument}
          LEFT JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)} AND o.job_id = j.id
        ) AS part
      FROM json_each(${ends}) e CROSS JOIN jobs j ON ${isHeld(ended)}
      CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = ${memberSubmission}),
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

/** Inserts the jobs of a list of `CHILD` rows. */
function insertChildren(list: string, now: number): SQL {
  const child = CHILD.row(sql`e.entry`);
  const entry = CHILD.row(sql`entry`);
  const count = COUNT.row(sql`count`);
  // `LIMIT -1` keeps the inner query separate, otherwise each value read from an entry serializes the entry again.
  return sql`
    WITH counted AS MATERIALIZED (
      SELECT j.id AS parent, j.model, j.lane, j.batches, j.halvings, e.entry, (
          SELECT ${COUNT.array({
            documents: sql`count(*)`,
            contexts: sql`coalesce(sum(d.context_count), 0)`,
            bytes: sql`coalesce(sum(d.payload_bytes), 0)`,
          })}
          FROM json_each(e.entry, ${CHILD.path("members")}) g
          CROSS JOIN submissions s ON s.id = ${memberSubmission}
          CROSS JOIN ${memberDocuments} i
          CROSS JOIN documents d ON ${isMemberDocument}
        ) AS count
      FROM (SELECT value AS entry FROM json_each(${list}) LIMIT -1) e
      CROSS JOIN jobs j ON ${isHeld(child)})
    INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes,
      due_at, created_at, batches, halvings, members)
    SELECT ${entry("id")}, model, lane, 'pending', parent, ${entry("round")}, ${count("documents")}, ${count("contexts")},
      ${count("bytes")}, ${entry("dueAt")}, ${now}, batches - (${entry("refused")}), halvings + (${entry("halvings")}),
      ${entry.json("members")}
    FROM counted WHERE true
    ON CONFLICT DO NOTHING`;
}

/**
 * Inserts a list of `outcomeLists`. A document's id and scores are a key and a value of an object: SQLite returns those
 * directly, but would serialize and parse the entry of a list again for each of its fields.
 */
function insertOutcomes(list: string, now: number, outcome: SQL): SQL {
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT j.id AS job, j.model, j.round, j.dispatched_at, s.id AS submission, s.collection, g.value AS outcomes
      FROM (SELECT value AS entry FROM json_each(${list}) LIMIT -1) e
      CROSS JOIN jobs j ON ${isHeld(OUTCOMES.row(sql`e.entry`))}
      CROSS JOIN json_each(e.entry, ${OUTCOMES.path("outcomes")}) g CROSS JOIN submissions s ON s.id = g.key)
    INSERT INTO outcomes (document_id, collection, submission_id, model, attempts, job_id, dispatched_at, finalized_at,
      status, code, message, scores)
    SELECT d.document_id, d.collection, d.submission_id, l.model, l.round, l.job, l.dispatched_at, ${now}, ${outcome}
    FROM listed l CROSS JOIN json_each(l.outcomes) n
    CROSS JOIN documents d
      ON ${isDocument(sql`d`, { id: sql`n.key`, collection: sql`l.collection`, submission: sql`l.submission` })}
    WHERE true
    ON CONFLICT DO NOTHING`;
}
