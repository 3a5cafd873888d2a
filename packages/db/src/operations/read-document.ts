import { sql } from "drizzle-orm";
import type { JobId, JobStatus, Lane, ModelName, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";
import type { OutcomeStatus } from "../schema.ts";

/** Everything about one version of a document, and about the version that its scores are from. */
export interface DocumentRow {
  readonly document_id: string;
  readonly collection: string;
  readonly submission_id: SubmissionId;
  readonly part: number;
  readonly place: number;
  readonly query: string;
  readonly contexts: string;
  readonly context_ids: string | null;
  readonly metadata: string | null;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly created_at: number;
  /** `null`: not ended. */
  readonly status: OutcomeStatus | null;
  readonly outcome_job_id: JobId | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly attempts: number | null;
  readonly outcome_dispatched_at: number | null;
  readonly finalized_at: number | null;
  readonly scores: string | null;
  /** The job that recorded it. */
  readonly root_job_id: JobId | null;
  /** The newest version that succeeded, when that is not this one. */
  readonly older_submission_id: SubmissionId | null;
  readonly older_scores: string | null;
  readonly older_contexts: string | null;
}

const columns = sql`
  d.document_id, d.collection, d.submission_id, d.part, d.place, d.query, d.contexts, d.context_ids, d.metadata,
  s.model, s.lane, s.created_at,
  o.status, o.job_id AS outcome_job_id, o.code, o.message, o.attempts, o.dispatched_at AS outcome_dispatched_at,
  o.finalized_at, o.scores, p.job_id AS root_job_id,
  older.submission_id AS older_submission_id, older.scores AS older_scores, olderInput.contexts AS older_contexts`;
const joins = sql`
  CROSS JOIN submissions s ON s.id = d.submission_id
  LEFT JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
  LEFT JOIN outcomes o
    ON o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id
  LEFT JOIN outcomes older
    ON o.status IS NOT 'succeeded' AND older.document_id = d.document_id AND older.collection = d.collection
    AND older.submission_id = (SELECT max(n.submission_id) FROM outcomes n
      WHERE n.document_id = d.document_id AND n.collection = d.collection AND n.status = 'succeeded')
  LEFT JOIN documents olderInput
    ON olderInput.document_id = older.document_id AND olderInput.collection = older.collection
    AND olderInput.submission_id = older.submission_id`;

/** The newest version of a document by its key, or `null` where none is recorded. */
export async function readDocument(db: Database, collection: string, id: string): Promise<DocumentRow | null> {
  const [row] = await query<DocumentRow>(db, sql`
    SELECT ${columns} FROM documents d ${joins}
    WHERE d.document_id = ${id} AND d.collection = ${collection}
    ORDER BY d.submission_id DESC LIMIT 1`);
  return row ?? null;
}

/** Where a listing of a submission's documents stands: behind this document of this part. */
export interface ResultPosition {
  readonly part: number;
  readonly index: number;
}

/** The next documents of a submission in the order of its parts, each with its position. Recorded ones only. */
export async function listSubmissionDocuments(
  db: Database,
  id: SubmissionId,
  after: ResultPosition | null,
  limit: number,
): Promise<(DocumentRow & { readonly position: ResultPosition })[]> {
  const from = after ?? { part: 0, index: -1 };
  const rows = await query<DocumentRow & { listed_part: number; listed_index: number }>(db, sql`
    SELECT ${columns}, listed.part AS listed_part, i.key AS listed_index
    FROM parts listed CROSS JOIN json_each(listed.documents) i
    CROSS JOIN submissions own ON own.id = listed.submission_id
    CROSS JOIN documents d ON d.document_id = i.value AND d.collection = own.collection AND d.submission_id = own.id
    ${joins}
    WHERE listed.submission_id = ${id} AND listed.part >= ${from.part}
      AND (listed.part > ${from.part} OR i.key > ${from.index})
    ORDER BY listed.part, i.key LIMIT ${limit}`);
  return rows.map(({ listed_part, listed_index, ...row }) => ({
    ...row,
    position: { part: listed_part, index: listed_index },
  }));
}

/** The job that has a document which has not ended: how far it is. */
export interface HoldingJob {
  readonly id: JobId;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly round: number;
  readonly dispatched_at: number | null;
  readonly due_at: number | null;
  readonly refusals: number;
}

/**
 * The open job that holds a document, from the one that recorded it down through follow-ups and
 * halves. A child is looked into only where its parent has ended.
 */
export async function readHoldingJob(
  db: Database,
  root: JobId,
  document: { readonly submission: SubmissionId; readonly id: string },
): Promise<HoldingJob | null> {
  const [row] = await query<HoldingJob>(db, sql`
    WITH RECURSIVE line (id) AS (
      SELECT ${root}
      UNION ALL
      SELECT child.id FROM line CROSS JOIN jobs child ON child.parent_id = line.id
      WHERE EXISTS (SELECT 1 FROM json_each(child.members) g CROSS JOIN json_each(g.value, '$[1]') i
        WHERE g.value ->> 0 = ${document.submission} AND i.value = ${document.id}))
    SELECT j.id, j.status, j.attempt, j.round, j.dispatched_at, j.due_at, j.refusals
    FROM line CROSS JOIN jobs j ON j.id = line.id
    WHERE j.due_at IS NOT NULL LIMIT 1`);
  return row ?? null;
}
