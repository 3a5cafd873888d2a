import { sql, type SQL } from "drizzle-orm";
import type { JobId, Lane, ModelName, SubmissionId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";

/** One part to record. */
export interface PartToRecord {
  readonly submission: SubmissionId;
  readonly part: number;
  readonly hash: string;
  readonly collection: string;
  /** Ids of its documents, in order. */
  readonly documents: readonly string[];
  /** How many contexts they have. */
  readonly contextCount: number;
  readonly payloadBytes: number;
  /** JSON, a list for each document: `[[id, place, bytes, context count, query, context ids, metadata], …]`. */
  readonly rows: string;
  /** JSON, the contexts of each document, in the same order: `[[text, …], …]`. At most 1 MB. */
  readonly texts: string;
}

/** The job that takes the parts. Recorded in several transactions when it is larger than one may be. */
export interface JobToRecord {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  /** Until when the recorder means to dispatch it; from then on the poller may. */
  readonly leaseUntil: number;
}

/** Parts whose texts share a row of `contexts`. No two of their documents have the same id and collection. */
export type ContextsRow = readonly PartToRecord[];

/** Parts whose documents one statement takes in, 1.9 MB of their `rows` (D1 binds at most 2 MB), by rows of `contexts`. */
export type PartChunks = readonly (readonly ContextsRow[])[];

/**
 * Records parts, their documents and their job in one transaction: intent before dispatch.
 *
 * All of them or none: where one is recorded already, whoever did it, where one's submission is unknown,
 * or where the job's first dispatch has started, nothing is written, and the messages of those that are
 * not recorded must come again. So the transaction may be repeated after an error that hides a commit,
 * and texts that were deleted since are not stored again. Documents of a submission whose cancelation
 * was asked for end as canceled here and are no part of the job.
 *
 * Every statement reads rows in proportion to the parts and documents given. Gives for each part
 * whether it is recorded now, by this transaction or another.
 */
export async function recordParts(db: Database, job: JobToRecord, chunks: PartChunks, now: number): Promise<boolean[]> {
  const contextsRows = chunks.flat();
  const parts = contextsRows.flat();
  const keys = JSON.stringify(parts.map(({ submission, part, documents }) => [submission, part, documents.length]));
  const list = JSON.stringify(
    parts.map(({ submission, part, hash, contextCount, payloadBytes, documents }) => [
      submission,
      part,
      hash,
      documents.length,
      contextCount,
      payloadBytes,
      documents,
    ]),
  );
  const guard = areNew(keys, job.id);

  const recorded = await transact<{ recorded: number }>(db, [
    sql`
      WITH counted AS MATERIALIZED (
        SELECT s.id AS submission, sum(n.value ->> 2) AS count,
          sum(iif(s.cancel_requested_at IS NULL, 0, n.value ->> 2)) AS canceled
        FROM json_each(${keys}) n CROSS JOIN submissions s ON s.id = n.value ->> 0
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
      SELECT ${job.id}, ${job.model}, ${job.lane}, 'pending', 1, sum(n.value ->> 3), sum(n.value ->> 4), sum(n.value ->> 5),
        ${job.leaseUntil}, ${now}, json_group_array(json_array(s.id, n.value -> 6) ORDER BY n.key)
      FROM json_each(${list}) n CROSS JOIN submissions s ON s.id = n.value ->> 0
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
      CROSS JOIN submissions s ON s.id = n.value ->> 0 AND s.cancel_requested_at IS NOT NULL
      CROSS JOIN json_each(n.value, '$[6]') d
      WHERE ${guard}
      ON CONFLICT DO NOTHING`,
    ...insertContexts(contextsRows, guard),
    ...insertDocuments(chunks, guard),
    // Last of all, since the guard asks for them: repeated, they are not new, and what was deleted since stays gone.
    sql`
      INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents)
      SELECT n.value ->> 0, n.value ->> 1, ${job.id}, n.value ->> 2, n.value ->> 3, ${now}, n.value ->> 6
      FROM json_each(${list}) n WHERE ${guard}`,
    sql`
      DELETE FROM staged_parts WHERE (submission_id, part) IN (
        SELECT p.submission_id, p.part FROM json_each(${keys}) n
        CROSS JOIN parts p ON p.submission_id = n.value ->> 0 AND p.part = n.value ->> 1)`,
    sql`
      SELECT p.part IS NOT NULL AS recorded FROM json_each(${keys}) n
      LEFT JOIN parts p ON p.submission_id = n.value ->> 0 AND p.part = n.value ->> 1
      ORDER BY n.key`,
  ]);
  return recorded.map((row) => row.recorded === 1);
}

/**
 * Whether every part of a JSON list `[[submission, part, …], …]` is one of a known submission and recorded
 * nowhere, and the job has not started. Asked once a statement, not for each of its rows; reads three rows a part.
 */
function areNew(keys: string, job: JobId): SQL {
  return sql`
    NOT EXISTS (
      SELECT 1 FROM json_each(${keys}) k
      WHERE NOT EXISTS (SELECT 1 FROM submissions s WHERE s.id = k.value ->> 0)
        OR EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = k.value ->> 0 AND p.part = k.value ->> 1))
    AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = ${job} AND (j.status <> 'pending' OR j.dispatch_number > 0))`;
}

/** Rows of texts in a statement, each a parameter: D1 binds at most 100, and the guard takes two. */
const MAX_TEXTS = 90;

/** The texts, each row of them a value of its own, which D1 need not take out of anything. Their ids follow one another. */
function insertContexts(rows: readonly ContextsRow[], guard: SQL): SQL[] {
  const statements: SQL[] = [];
  for (let next = 0; next < rows.length; next += MAX_TEXTS) {
    const values = rows.slice(next, next + MAX_TEXTS).map((row) => sql`(${textsOf(row)})`);
    statements.push(
      sql`INSERT INTO contexts (texts) SELECT column1 FROM (VALUES ${sql.join(values, sql`, `)}) WHERE ${guard}`,
    );
  }
  return statements;
}

/** The lists of all parts as one. Every part has a document, so that none of the lists is empty. */
function textsOf(row: ContextsRow): string {
  const [first] = row;
  return row.length === 1 && first !== undefined
    ? first.texts
    : `[${row.map(({ texts }) => texts.slice(1, -1)).join(",")}]`;
}

/** A statement a chunk, behind that of the texts: their rows of `contexts` are the newest ones. */
function insertDocuments(chunks: PartChunks, guard: SQL): SQL[] {
  let rowsBehind = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return chunks.map((chunk) => {
    const entries: string[] = [];
    for (const row of chunk) {
      rowsBehind -= 1;
      let at = 0;
      for (const { submission, part, documents, rows } of row) {
        entries.push(`["${submission}",${part},${rowsBehind},${at},${rows}]`);
        at += documents.length;
      }
    }
    // Taken apart once a part: a join that refers to the entry itself serializes it again for each document.
    // And once a document: `LIMIT -1` keeps the inner query apart, else each column does so again.
    return sql`
      WITH fresh AS MATERIALIZED (
        SELECT s.id AS submission, s.collection, n.value ->> 1 AS part, n.value ->> 2 AS behind, n.value ->> 3 AS at,
          n.value -> 4 AS documents
        FROM json_each(${`[${entries.join(",")}]`}) n
        CROSS JOIN submissions s ON s.id = n.value ->> 0
        WHERE ${guard})
      INSERT INTO documents (document_id, collection, submission_id, part, place, contexts_id, contexts_at,
        payload_bytes, context_count, context_ids, metadata, query)
      SELECT d.value ->> 0, d.collection, d.submission, d.part, d.value ->> 1, (SELECT max(id) FROM contexts) - d.behind, d.at,
        d.value ->> 2, d.value ->> 3, d.value ->> 5, d.value ->> 6, d.value ->> 4
      FROM (
        SELECT f.submission, f.collection, f.part, f.behind, f.at + i.key AS at, i.value
        FROM fresh f CROSS JOIN json_each(f.documents) i LIMIT -1) d
      WHERE true
      ON CONFLICT DO NOTHING`;
  });
}
