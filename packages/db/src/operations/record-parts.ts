import { sql, type SQL } from "drizzle-orm";
import type { JobId, Lane, ModelName, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { transact } from "../statements.ts";

/** One part to record. */
export interface PartToRecord {
  readonly submission: SubmissionId;
  readonly part: number;
  readonly hash: string;
  /** Ids of its documents, in order. */
  readonly documents: readonly string[];
  /** How many contexts they have. */
  readonly contextCount: number;
  readonly payloadBytes: number;
  /** JSON, one for each document: `[{ place, id, bytes, context_count, query, context_ids?, metadata? }, …]`. */
  readonly rows: string;
  /** JSON, the contexts of each document by its place: `{ place: [text, …], … }`. */
  readonly contexts: string;
}

/** The job that takes the parts. Recorded in several transactions when it is larger than one may be. */
export interface JobToRecord {
  readonly id: JobId;
  readonly model: ModelName;
  readonly lane: Lane;
  /** Until when the recorder means to dispatch it; from then on the poller may. */
  readonly leaseUntil: number;
}

/** Parts whose documents one statement takes in: 1.9 MB of what `documentsEntry` gives (D1 binds at most 2 MB). */
export type PartChunks = readonly (readonly PartToRecord[])[];

/**
 * Records parts, their documents and their job in one transaction: intent before dispatch.
 *
 * A part that is recorded already changes nothing, whoever recorded it, so the transaction may be
 * repeated after an error that hides a commit. Once the job's first attempt has started nothing is
 * added to it: then the parts stay unrecorded and their messages must come again. Documents of a
 * submission whose cancelation was asked for end as canceled here and are no part of the job.
 *
 * The contexts stay together, with their part: so a document is a small row, and its text is written once.
 * Every statement reads rows in proportion to the parts and documents given. Gives for each part
 * whether it is recorded now, by this transaction or another.
 */
export async function recordParts(db: Database, job: JobToRecord, chunks: PartChunks, now: number): Promise<boolean[]> {
  const parts = chunks.flat();
  const list = JSON.stringify(
    parts.map((part) => ({
      submission: part.submission,
      part: part.part,
      count: part.documents.length,
      contexts: part.contextCount,
      bytes: part.payloadBytes,
      documents: part.documents,
    })),
  );
  const keys = JSON.stringify(parts.map(({ submission, part }) => ({ submission, part })));
  // Which of the parts are new is asked before any of them is written: the same answer for all.
  const fresh = sql`
    SELECT n.key AS place, s.id AS submission, s.cancel_requested_at, s.collection, s.model,
      n.value ->> 'count' AS count, n.value ->> 'contexts' AS contexts, n.value ->> 'bytes' AS bytes,
      n.value -> 'documents' AS documents
    FROM json_each(${list}) n
    CROSS JOIN submissions s ON s.id = n.value ->> 'submission'
    WHERE ${isNew(sql`n`, job.id)}`;

  const recorded = await transact<{ recorded: number }>(db, [
    sql`
      WITH counted AS MATERIALIZED (
        SELECT submission, sum(count) AS count, sum(iif(cancel_requested_at IS NULL, 0, count)) AS canceled
        FROM (${fresh}) GROUP BY submission)
      UPDATE submissions SET
        recorded = recorded + counted.count,
        canceled = submissions.canceled + counted.canceled,
        lost = max(0, lost - counted.count),
        completed_at = CASE
          WHEN closed_at IS NOT NULL AND succeeded + failed + submissions.canceled + counted.canceled
            + max(0, lost - counted.count) = total THEN ${now} END
      FROM counted WHERE submissions.id = counted.submission`,
    sql`
      INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes, due_at, created_at, members)
      SELECT ${job.id}, ${job.model}, ${job.lane}, 'pending', 1, sum(count), sum(contexts), sum(bytes),
        ${job.leaseUntil}, ${now}, json_group_array(json_array(submission, json(documents)) ORDER BY place)
      FROM (${fresh}) WHERE cancel_requested_at IS NULL HAVING count(*) > 0
      ON CONFLICT (id) DO UPDATE SET
        document_count = document_count + excluded.document_count,
        context_count = context_count + excluded.context_count,
        payload_bytes = payload_bytes + excluded.payload_bytes,
        due_at = excluded.due_at,
        members = substr(members, 1, length(members) - 1) || ',' || substr(excluded.members, 2)`,
    sql`
      INSERT INTO outcomes (document_id, collection, submission_id, status, model, attempts, finalized_at)
      SELECT d.value, f.collection, f.submission, 'canceled', f.model, 0, ${now}
      FROM (${fresh}) f CROSS JOIN json_each(f.documents) d
      WHERE f.cancel_requested_at IS NOT NULL
      ON CONFLICT DO NOTHING`,
    // Before the parts themselves: repeated, none of them is new, and what was deleted since stays gone.
    ...chunks.map((chunk) => insertDocuments(job.id, chunk)),
    ...parts.map((part) => insertPart(job.id, part, now)),
    sql`
      DELETE FROM staged_parts WHERE (submission_id, part) IN (
        SELECT p.submission_id, p.part FROM json_each(${keys}) n
        CROSS JOIN parts p ON p.submission_id = n.value ->> 'submission' AND p.part = n.value ->> 'part')`,
    sql`
      SELECT p.part IS NOT NULL AS recorded FROM json_each(${keys}) n
      LEFT JOIN parts p ON p.submission_id = n.value ->> 'submission' AND p.part = n.value ->> 'part'
      ORDER BY n.key`,
  ]);
  return recorded.map((row) => row.recorded === 1);
}

/** Whether the part that `row.value` describes is recorded nowhere, and its job has not started. Reads two rows. */
function isNew(row: SQL, job: JobId): SQL {
  return sql`
    NOT EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = ${row}.value ->> 'submission' AND p.part = ${row}.value ->> 'part')
      AND ${isNotStarted(job)}`;
}

function isNotStarted(job: JobId): SQL {
  return sql`NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = ${job} AND (j.status <> 'pending' OR j.attempt > 0))`;
}

/** A part in the list that `documents` is filled from, as JSON. */
export function documentsEntry({ submission, part, rows }: PartToRecord): string {
  return `{"submission":"${submission}","part":${part},"documents":${rows}}`;
}

/** Only of parts that are new: what was deleted of others stays gone. */
function insertDocuments(job: JobId, chunk: readonly PartToRecord[]): SQL {
  const list = `[${chunk.map(documentsEntry).join(",")}]`;
  // Taken apart once a part: a join that refers to the entry itself serializes it again for each document.
  return sql`
    WITH fresh AS MATERIALIZED (
      SELECT s.id AS submission, s.collection, n.value ->> 'part' AS part, n.value -> 'documents' AS documents
      FROM json_each(${list}) n
      CROSS JOIN submissions s ON s.id = n.value ->> 'submission'
      WHERE ${isNew(sql`n`, job)})
    INSERT INTO documents (document_id, collection, submission_id, part, place, payload_bytes, context_count,
      context_ids, metadata, query)
    SELECT d.value ->> 'id', f.collection, f.submission, f.part, d.value ->> 'place', d.value ->> 'bytes',
      d.value ->> 'context_count', d.value -> 'context_ids', d.value -> 'metadata', d.value ->> 'query'
    FROM fresh f CROSS JOIN json_each(f.documents) d
    WHERE true
    ON CONFLICT DO NOTHING`;
}

/** A statement a part, so that its contexts are a value of their own, which D1 need not take out of anything. */
function insertPart(job: JobId, part: PartToRecord, now: number): SQL {
  return sql`
    INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents, contexts)
    SELECT s.id, ${part.part}, ${job}, ${part.hash}, ${part.documents.length}, ${now}, ${JSON.stringify(part.documents)}, ${part.contexts}
    FROM submissions s
    WHERE s.id = ${part.submission} AND ${isNotStarted(job)}
    ON CONFLICT DO NOTHING`;
}
