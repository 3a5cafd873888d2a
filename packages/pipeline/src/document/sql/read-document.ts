import { sql } from "drizzle-orm";
import type { JobId, JobStatus, Lane, ModelName, SubmissionId } from "@sluice/core";
import { type Database, type OutcomeStatus, query } from "@sluice/db";

/** Everything about one version of a document, and about the version that its scores are from. */
export interface DocumentRow {
  readonly document_id: string;
  readonly collection: string;
  readonly submission_id: SubmissionId;
  readonly query: string;
  readonly metadata: string | null;
  /** `null` where texts were not asked for. */
  readonly contexts: string | null;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly created_at: number;
  /** Whether its submission's cancellation was requested. */
  readonly is_canceled: 0 | 1;
  /** `null`: not ended. */
  readonly status: OutcomeStatus | null;
  readonly outcome_job_id: JobId | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly attempts: number | null;
  readonly outcome_dispatched_at: number | null;
  readonly finalized_at: number | null;
  readonly scores: string | null;
  /** The job that recorded it, and where that is open still, how far it is. */
  readonly root_job_id: JobId | null;
  readonly root_status: JobStatus | null;
  readonly root_dispatch_number: number | null;
  readonly root_round: number | null;
  readonly root_refusals: number | null;
  readonly root_dispatched_at: number | null;
  readonly root_due_at: number | null;
  /** Whether some of its documents are in other jobs by now. */
  readonly root_divided: 0 | 1;
  /** The newest older version that succeeded, where this one has not. */
  readonly older_submission_id: SubmissionId | null;
  readonly older_scores: string | null;
  readonly older_contexts: string | null;
}

/** Texts may be a megabyte a version: they are read only where they are shown. */
const columns = (texts: boolean) => sql`
  d.document_id, d.collection, d.submission_id, d.query, d.metadata, ${texts ? sql`t.texts -> d.contexts_at` : sql`NULL`} AS contexts,
  s.model, s.lane, s.created_at, s.cancel_requested_at IS NOT NULL AS is_canceled,
  o.status, o.job_id AS outcome_job_id, o.code, o.message, o.attempts, o.dispatched_at AS outcome_dispatched_at,
  o.finalized_at, o.scores,
  p.job_id AS root_job_id, root.status AS root_status, root.dispatch_number AS root_dispatch_number, root.round AS root_round,
  root.refusals AS root_refusals, root.dispatched_at AS root_dispatched_at, root.due_at AS root_due_at,
  EXISTS (SELECT 1 FROM jobs c WHERE c.parent_id = root.id) AS root_divided,
  older.submission_id AS older_submission_id, older.scores AS older_scores,
  ${texts ? sql`olderTexts.texts -> olderInput.contexts_at` : sql`NULL`} AS older_contexts`;

const outcomeJoin = sql`
  LEFT JOIN outcomes o
    ON o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id`;
const olderJoin = sql`
  LEFT JOIN outcomes older
    ON o.status IS NOT 'succeeded' AND older.document_id = d.document_id AND older.collection = d.collection
    AND older.submission_id = (SELECT max(n.submission_id) FROM outcomes n
      WHERE n.document_id = d.document_id AND n.collection = d.collection AND n.submission_id < d.submission_id
        AND n.status = 'succeeded')
  LEFT JOIN documents olderInput
    ON olderInput.document_id = older.document_id AND olderInput.collection = older.collection
    AND olderInput.submission_id = older.submission_id`;
const joins = (texts: boolean) => sql`
  CROSS JOIN submissions s ON s.id = d.submission_id
  LEFT JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
  ${outcomeJoin} ${olderJoin}
  ${texts ? sql`LEFT JOIN contexts t ON t.id = d.contexts_id LEFT JOIN contexts olderTexts ON olderTexts.id = olderInput.contexts_id` : sql``}
  LEFT JOIN jobs root ON o.status IS NULL AND root.id = p.job_id`;

/** The newest version of a document by its key, or `null` where none is recorded. */
export async function readDocument(
  db: Database,
  key: { readonly collection: string; readonly id: string },
  texts: boolean,
): Promise<DocumentRow | null> {
  const [row] = await query<DocumentRow>(
    db,
    sql`
    SELECT ${columns(texts)} FROM documents d ${joins(texts)}
    WHERE d.document_id = ${key.id} AND d.collection = ${key.collection}
    ORDER BY d.submission_id DESC LIMIT 1`,
  );
  return row ?? null;
}

/** The newest versions of documents of a collection, in the order asked; those that are not there are left out. */
export async function readDocuments(
  db: Database,
  collection: string,
  ids: readonly string[],
  texts: boolean,
): Promise<DocumentRow[]> {
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${columns(texts)}
    FROM json_each(${JSON.stringify(ids)}) asked
    CROSS JOIN documents d ON d.document_id = asked.value AND d.collection = ${collection}
      AND d.submission_id = (SELECT max(n.submission_id) FROM documents n
        WHERE n.document_id = asked.value AND n.collection = ${collection})
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

/** Versions of documents by their whole keys, in the order asked. */
export async function readVersions(
  db: Database,
  keys: readonly { readonly id: string; readonly collection: string; readonly submission: SubmissionId }[],
  texts: boolean,
): Promise<DocumentRow[]> {
  const asked = JSON.stringify(keys.map(({ id, collection, submission }) => [id, collection, submission]));
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${columns(texts)}
    FROM json_each(${asked}) asked
    CROSS JOIN documents d ON d.document_id = asked.value ->> 0 AND d.collection = asked.value ->> 1
      AND d.submission_id = asked.value ->> 2
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

/** About how many bytes the newest versions of documents take to show: a row or two each. */
export async function weighDocuments(db: Database, collection: string, ids: readonly string[]): Promise<number> {
  const [row] = await query<{ bytes: number }>(
    db,
    sql`
    SELECT coalesce(sum((SELECT d.payload_bytes + 40 * d.context_count FROM documents d
      WHERE d.document_id = asked.value AND d.collection = ${collection} ORDER BY d.submission_id DESC LIMIT 1)), 0) AS bytes
    FROM json_each(${JSON.stringify(ids)}) asked`,
  );
  return row?.bytes ?? 0;
}

/** Documents of one submission by their ids, in the order asked. */
export async function readSubmissionDocuments(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  ids: readonly string[],
  texts: boolean,
): Promise<DocumentRow[]> {
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${columns(texts)}
    FROM json_each(${JSON.stringify(ids)}) asked
    CROSS JOIN documents d ON d.document_id = asked.value AND d.collection = ${submission.collection}
      AND d.submission_id = ${submission.id}
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

/** Where a listing of a submission's documents stands: behind this document of this part. */
export interface ResultPosition {
  readonly part: number;
  readonly index: number;
}

/** Where a document stands in its submission's listing; `null`: it is not recorded there, or was deleted since. */
export async function findPosition(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  id: string,
): Promise<ResultPosition | null> {
  const [position] = await query<ResultPosition>(
    db,
    sql`
    SELECT d.part AS part, i.key AS "index"
    FROM documents d
    CROSS JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
    CROSS JOIN json_each(p.documents) i ON i.value = d.document_id
    WHERE d.document_id = ${id} AND d.collection = ${submission.collection} AND d.submission_id = ${submission.id}`,
  );
  return position ?? null;
}

/** A document in such a listing: where, whether and how it ended, and about how many bytes it takes to show. */
export interface ListedDocument {
  readonly position: ResultPosition;
  readonly id: string;
  readonly status: OutcomeStatus | null;
  readonly bytes: number;
}

/**
 * The next documents of a submission in the order of its parts, without any text. Recorded ones
 * only; one that was deleted since has no row. Reads rows in proportion to `limit` and one part.
 */
export async function listSubmissionDocuments(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  after: ResultPosition | null,
  limit: number,
): Promise<ListedDocument[]> {
  const from = after ?? { part: 0, index: -1 };
  const rows = await query<{ part: number; place: number; id: string; status: OutcomeStatus | null; bytes: number }>(
    db,
    sql`
    SELECT listed.part AS part, i.key AS place, d.document_id AS id, o.status AS status,
      d.payload_bytes + coalesce(olderInput.payload_bytes, 0) + 40 * d.context_count AS bytes
    FROM parts listed CROSS JOIN json_each(listed.documents) i
    CROSS JOIN documents d ON d.document_id = i.value AND d.collection = ${submission.collection}
      AND d.submission_id = listed.submission_id
    ${outcomeJoin} ${olderJoin}
    WHERE listed.submission_id = ${submission.id} AND listed.part >= ${from.part}
      AND (listed.part > ${from.part} OR i.key > ${from.index})
    ORDER BY listed.part, i.key LIMIT ${limit}`,
  );
  return rows.map(({ part, place, ...row }) => ({ position: { part, index: place }, ...row }));
}
