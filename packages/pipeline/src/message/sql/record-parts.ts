import { sql, type SQL } from "drizzle-orm";
import type { JobId, Lane, ModelName, SubmissionId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import { MEMBER } from "../../job/sql/members.ts";
import { columns } from "../../platform/sql/columns.ts";
import { highWaterMark } from "../../platform/sql/high-water-marks.ts";
import { isForgotten } from "../../submission/sql/is-forgotten.ts";

/** The columns that fill `documents`: a row of `PartToRecord.rows`. */
export const DOCUMENT = columns("id", "index", "bytes", "contextCount", "query", "contextIds", "metadata");
/** The columns of a part for the guard and the counters. */
const KEY = columns("submission", "part", "documentCount");
/** The columns of a part for `jobs` and `parts`. */
const PART = columns("submission", "part", "hash", "documentCount", "contextCount", "payloadBytes", "documentIds");
/**
 * The columns of a part with the rows of its documents. Their texts are in the row of `contexts` that is `behind` rows
 * before the newest one, starting at its element `at`.
 */
const ENTRY = columns("submission", "part", "behind", "at", "rows");

/** One part to record. */
export interface PartToRecord {
  readonly submission: SubmissionId;
  readonly part: number;
  readonly hash: string;
  readonly collection: string;
  /** Ids of its documents, in order. */
  readonly documentIds: readonly string[];
  /** The number of their contexts. */
  readonly contextCount: number;
  readonly payloadBytes: number;
  /** JSON, a list of `DOCUMENT` rows. */
  readonly rows: string;
  /** JSON, the contexts of each document, in the same order: `[[text, …], …]`. At most 1 MB. */
  readonly texts: string;
}

/** The job that gets the parts. Recorded in several transactions if it is too large for one. */
export interface JobToRecord {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  /** Until this time the recorder may dispatch it, and after it the poller. */
  readonly leaseUntil: number;
}

/** Parts whose texts share a row of `contexts`. No two of their documents have the same id and collection. */
export interface ContextsRow {
  readonly parts: readonly PartToRecord[];
}

/** A statement that fills `documents`, with up to 1.9 MB of `rows`, because D1 binds at most 2 MB. */
export interface DocumentsStatement {
  readonly contextsRows: readonly ContextsRow[];
}

/** The content of one transaction. `planTransactions` divides a job's parts into transactions. */
export interface RecordingTransaction {
  readonly statements: readonly DocumentsStatement[];
}

/**
 * Records parts, their documents and their job in one transaction, before any dispatch.
 *
 * Writes all of them or none. If a part is recorded already, by anyone, if the submission of a part is unknown or its
 * collection was deleted (see `recordForgottenParts`), or if the first dispatch of the job has started, nothing is written, and the messages of the unrecorded parts must be
 * delivered again. So the transaction can be repeated after an error that hides a commit, and deleted texts are not
 * stored again. Documents of a canceled submission end as canceled here and are not in the job.
 *
 * Every statement reads rows in proportion to the parts and documents. Returns for each part whether it is recorded
 * now, by this transaction or another.
 */
export async function recordParts(
  db: Database,
  job: JobToRecord,
  { statements }: RecordingTransaction,
  now: number,
): Promise<boolean[]> {
  const contextsRows = statements.flatMap((statement) => statement.contextsRows);
  const parts = contextsRows.flatMap((row) => row.parts);
  const counted = parts.map((part) => ({ ...part, documentCount: part.documentIds.length }));
  const keys = JSON.stringify(counted.map((part) => KEY.list(part)));
  const list = JSON.stringify(counted.map((part) => PART.list(part)));
  const key = KEY.row(sql`n.value`);
  const part = PART.row(sql`n.value`);
  const isRecorded = sql`p.submission_id = ${key("submission")} AND p.part = ${key("part")}`;
  const guard = areNew(keys, job.id);

  const recorded = await transact<{ recorded: number }>(db, [
    sql`
      WITH counted AS MATERIALIZED (
        SELECT s.id AS submission, sum(${key("documentCount")}) AS count,
          sum(iif(s.cancel_requested_at IS NULL, 0, ${key("documentCount")})) AS canceled
        FROM json_each(${keys}) n CROSS JOIN submissions s ON s.id = ${key("submission")}
        WHERE ${guard} GROUP BY s.id)
      UPDATE submissions SET
        recorded = recorded + counted.count,
        canceled = submissions.canceled + counted.canceled,
        lost = max(0, min(lost, total - recorded - counted.count)),
        completed_at = CASE
          WHEN closed_at IS NOT NULL AND succeeded + failed + submissions.canceled + counted.canceled
            + max(0, min(lost, total - recorded - counted.count)) = total THEN ${now} END
      FROM counted WHERE submissions.id = counted.submission`,
    sql`
      INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes, due_at, created_at, members)
      SELECT ${job.id}, ${job.model}, ${job.lane}, 'pending', 1, sum(${part("documentCount")}),
        sum(${part("contextCount")}), sum(${part("payloadBytes")}), ${job.leaseUntil}, ${now},
        json_group_array(${MEMBER.array({ submission: sql`s.id`, documents: part.json("documentIds") })} ORDER BY n.key)
      FROM json_each(${list}) n CROSS JOIN submissions s ON s.id = ${part("submission")}
      WHERE s.cancel_requested_at IS NULL AND ${guard} HAVING count(*) > 0
      ON CONFLICT (id) DO UPDATE SET
        document_count = document_count + excluded.document_count,
        context_count = context_count + excluded.context_count,
        payload_bytes = payload_bytes + excluded.payload_bytes,
        due_at = excluded.due_at,
        members = substr(members, 1, length(members) - 1) || ',' || substr(excluded.members, 2)`,
    sql`
      INSERT INTO outcomes (document_id, collection, submission_id, status, model, attempts, finalized_at)
      SELECT d.value, s.collection, s.id, 'canceled', s.model, 0, ${now}
      FROM json_each(${list}) n
      CROSS JOIN submissions s ON s.id = ${part("submission")} AND s.cancel_requested_at IS NOT NULL
      CROSS JOIN json_each(n.value, ${PART.path("documentIds")}) d
      WHERE ${guard}
      ON CONFLICT DO NOTHING`,
    ...insertContexts(contextsRows, guard),
    ...insertDocuments(statements, guard),
    // Last, because the guard checks this table: in a repeat the parts are not new, and deleted texts are not stored
    // again.
    sql`
      INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents)
      SELECT ${part("submission")}, ${part("part")}, ${job.id}, ${part("hash")}, ${part("documentCount")}, ${now},
        ${part("documentIds")}
      FROM json_each(${list}) n WHERE ${guard}`,
    sql`
      DELETE FROM staged_parts WHERE (submission_id, part) IN (
        SELECT p.submission_id, p.part FROM json_each(${keys}) n
        CROSS JOIN parts p ON ${isRecorded})`,
    sql`
      SELECT p.part IS NOT NULL AS recorded FROM json_each(${keys}) n
      LEFT JOIN parts p ON ${isRecorded}
      ORDER BY n.key`,
  ]);
  return recorded.map((row) => row.recorded === 1);
}

/**
 * Whether every part of a JSON list of `KEY` rows belongs to a known submission that no deletion of its collection
 * covers, and is not recorded, and the job has not started. Evaluated once per statement, not per row. Reads three rows
 * per part, and one more if its submission is canceled.
 */
function areNew(keys: string, job: JobId): SQL {
  const key = KEY.row(sql`k.value`);
  return sql`
    NOT EXISTS (
      SELECT 1 FROM json_each(${keys}) k
      WHERE NOT EXISTS (SELECT 1 FROM submissions s WHERE s.id = ${key("submission")} AND NOT ${isForgotten(sql`s`)})
        OR EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = ${key("submission")} AND p.part = ${key("part")}))
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = ${job} AND (j.status <> 'pending' OR j.dispatch_number > 0))`;
}

/** Maximum rows of texts in a statement, each one parameter: D1 binds at most 100, and the guard takes two. */
const MAX_TEXTS = 90;

/**
 * Inserts the texts, one parameter per row of `contexts`, so that D1 does not parse them. Their ids are consecutive, and
 * greater than every id before.
 */
function insertContexts(rows: readonly ContextsRow[], guard: SQL): SQL[] {
  const statements: SQL[] = [];
  for (let next = 0; next < rows.length; next += MAX_TEXTS) {
    const group = rows.slice(next, next + MAX_TEXTS);
    const values = group.map((row, index) => sql`(${sql.raw(`${index + 1}`)}, ${textsOf(row)})`);
    // Few and small, unlike the texts: one parameter for all rows.
    const parts = JSON.stringify(group.map((row) => row.parts.map(({ submission, part }) => [submission, part])));
    statements.push(sql`
      INSERT INTO contexts (id, texts, parts)
      SELECT newest.id + column1, column2, ${parts} -> (column1 - 1)
      FROM (SELECT max((SELECT coalesce(max(id), 0) FROM contexts), ${highWaterMark("contexts_id")}) AS id) newest
      CROSS JOIN (VALUES ${sql.join(values, sql`, `)})
      WHERE ${guard}`);
  }
  return statements;
}

/** Joins the lists of all parts. Every part has a document, so none of the lists is empty. */
function textsOf({ parts }: ContextsRow): string {
  const [first] = parts;
  return parts.length === 1 && first !== undefined
    ? first.texts
    : `[${parts.map(({ texts }) => texts.slice(1, -1)).join(",")}]`;
}

/** Inserts the documents. Runs directly after `insertContexts`, so those rows of `contexts` are the newest ones. */
function insertDocuments(statements: readonly DocumentsStatement[], guard: SQL): SQL[] {
  const entry = ENTRY.row(sql`n.value`);
  const document = DOCUMENT.row(sql`d.value`);
  let rowsBehind = statements.reduce((sum, { contextsRows }) => sum + contextsRows.length, 0);
  return statements.map(({ contextsRows }) => {
    const entries: string[] = [];
    for (const { parts } of contextsRows) {
      rowsBehind -= 1;
      let at = 0;
      for (const { submission, part, documentIds, rows } of parts) {
        entries.push(
          ENTRY.text({ submission: `"${submission}"`, part: `${part}`, behind: `${rowsBehind}`, at: `${at}`, rows }),
        );
        at += documentIds.length;
      }
    }
    // Split once per part: a join on the entry itself serializes it again for each document. Also split once per
    // document: `LIMIT -1` keeps the inner query separate, otherwise each column serializes it again.
    return sql`
      WITH fresh AS MATERIALIZED (
        SELECT s.id AS submission, s.collection, ${entry("part")} AS part, ${entry("behind")} AS behind, ${entry("at")} AS at,
          ${entry.json("rows")} AS documents
        FROM json_each(${`[${entries.join(",")}]`}) n
        CROSS JOIN submissions s ON s.id = ${entry("submission")}
        WHERE ${guard})
      INSERT INTO documents (document_id, collection, submission_id, part, place, contexts_id, contexts_at,
        payload_bytes, context_count, context_ids, metadata, query)
      SELECT ${document("id")}, d.collection, d.submission, d.part, ${document("index")},
        (SELECT max(id) FROM contexts) - d.behind, d.at, ${document("bytes")}, ${document("contextCount")},
        ${document("contextIds")}, ${document("metadata")}, ${document("query")}
      FROM (
        SELECT f.submission, f.collection, f.part, f.behind, f.at + i.key AS at, i.value
        FROM fresh f CROSS JOIN json_each(f.documents) i LIMIT -1) d
      WHERE true
      ON CONFLICT DO NOTHING`;
  });
}
