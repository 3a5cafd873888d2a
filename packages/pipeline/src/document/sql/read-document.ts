import { sql, type SQL } from "drizzle-orm";
import type { JobId, JobStatus, Lane, ModelName, OutcomeStatus, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { textExpiry } from "./expire-texts.ts";
import { isDocument, isSameDocument } from "./is-document.ts";

/** One version of a document, with the version that its scores are from. */
export interface DocumentRow {
  readonly documentId: string;
  readonly collection: string;
  readonly submissionId: SubmissionId;
  readonly query: string;
  readonly metadata: string | null;
  /**
   * JSON: a list of texts, or the time at which they expired. `null` if texts were not requested or their row is deleted.
   */
  readonly contexts: string | null;
  /** When the row with its texts expired. */
  readonly contextsExpiredAt: number | null;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly createdAt: number;
  /** Whether its submission's cancellation was requested. */
  readonly isCanceled: 0 | 1;
  /** `null`: not ended. */
  readonly status: OutcomeStatus | null;
  readonly outcomeJobId: JobId | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly attempts: number | null;
  readonly outcomeDispatchedAt: number | null;
  readonly finalizedAt: number | null;
  readonly scores: string | null;
  /** The job that recorded it, with its progress if it is still open. */
  readonly rootJobId: JobId | null;
  readonly rootStatus: JobStatus | null;
  readonly rootDispatchNumber: number | null;
  readonly rootRound: number | null;
  readonly rootRefusals: number | null;
  readonly rootDispatchedAt: number | null;
  readonly rootDueAt: number | null;
  /** Whether some of its documents have moved to other jobs. */
  readonly rootDivided: 0 | 1;
  /** The newest older version that succeeded; only if this one has not. */
  readonly olderSubmissionId: SubmissionId | null;
  readonly olderScores: string | null;
  readonly olderContexts: string | null;
  readonly olderContextsExpiredAt: number | null;
}

/** The texts of a version, `input`, and when they expired; `row` is their row of `contexts`. */
const textsColumns = (row: SQL, input: SQL, texts: boolean) =>
  texts
    ? {
        contexts: sql`${row}.texts -> ${input}.contexts_at`,
        expiredAt: sql`iif(${row}.id IS NULL, ${textExpiry(sql`${input}.contexts_id`)}, NULL)`,
      }
    : { contexts: sql`NULL`, expiredAt: sql`NULL` };

/** Texts may take a megabyte per version, so they are read only if they are shown. */
const shownColumns = (texts: boolean) => {
  const own = textsColumns(sql`t`, sql`d`, texts);
  const older = textsColumns(sql`olderTexts`, sql`olderInput`, texts);
  return sql`
  d.document_id AS documentId, d.collection, d.submission_id AS submissionId, d.query, d.metadata,
  ${own.contexts} AS contexts, ${own.expiredAt} AS contextsExpiredAt,
  s.model, s.lane, s.created_at AS createdAt, s.cancel_requested_at IS NOT NULL AS isCanceled,
  o.status, o.job_id AS outcomeJobId, o.code, o.message, o.attempts, o.dispatched_at AS outcomeDispatchedAt,
  o.finalized_at AS finalizedAt, o.scores,
  p.job_id AS rootJobId, root.status AS rootStatus, root.dispatch_number AS rootDispatchNumber, root.round AS rootRound,
  root.refusals AS rootRefusals, root.dispatched_at AS rootDispatchedAt, root.due_at AS rootDueAt,
  EXISTS (SELECT 1 FROM jobs c WHERE c.parent_id = root.id) AS rootDivided,
  older.submission_id AS olderSubmissionId, older.scores AS olderScores,
  ${older.contexts} AS olderContexts, ${older.expiredAt} AS olderContextsExpiredAt`;
};

const outcomeJoin = sql`
  LEFT JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)}`;
const olderJoin = sql`
  LEFT JOIN outcomes older
    ON o.status IS NOT 'succeeded' AND ${isDocument(sql`older`, {
      id: sql`d.document_id`,
      collection: sql`d.collection`,
      submission: sql`(SELECT max(n.submission_id) FROM outcomes n
      WHERE n.document_id = d.document_id AND n.collection = d.collection AND n.submission_id < d.submission_id
        AND n.status = 'succeeded')`,
    })}
  LEFT JOIN documents olderInput ON ${isSameDocument(sql`olderInput`, sql`older`)}`;
const joins = (texts: boolean) => sql`
  CROSS JOIN submissions s ON s.id = d.submission_id
  LEFT JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
  ${outcomeJoin} ${olderJoin}
  ${texts ? sql`LEFT JOIN contexts t ON t.id = d.contexts_id LEFT JOIN contexts olderTexts ON olderTexts.id = olderInput.contexts_id` : sql``}
  LEFT JOIN jobs root ON o.status IS NULL AND root.id = p.job_id`;

/** The newest version of a document by its key, or `null` if none is recorded. */
export async function readDocument(
  db: Database,
  key: { readonly collection: string; readonly id: string },
  texts: boolean,
): Promise<DocumentRow | null> {
  const [row] = await query<DocumentRow>(
    db,
    sql`
    SELECT ${shownColumns(texts)} FROM documents d ${joins(texts)}
    WHERE d.document_id = ${key.id} AND d.collection = ${key.collection}
    ORDER BY d.submission_id DESC LIMIT 1`,
  );
  return row ?? null;
}

/** The newest versions of documents of a collection, in the requested order. Unknown ones are left out. */
export async function readDocuments(
  db: Database,
  collection: string,
  ids: readonly string[],
  texts: boolean,
): Promise<DocumentRow[]> {
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${shownColumns(texts)}
    FROM json_each(${JSON.stringify(ids)}) asked
    CROSS JOIN documents d ON ${isDocument(sql`d`, {
      id: sql`asked.value`,
      collection,
      submission: sql`(SELECT max(n.submission_id) FROM documents n
        WHERE n.document_id = asked.value AND n.collection = ${collection})`,
    })}
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

const VERSION = columns("id", "collection", "submission");

/** Versions of documents by their whole keys, in the requested order. */
export async function readVersions(
  db: Database,
  keys: readonly { readonly id: string; readonly collection: string; readonly submission: SubmissionId }[],
  texts: boolean,
): Promise<DocumentRow[]> {
  const asked = JSON.stringify(keys.map((key) => VERSION.list(key)));
  const version = VERSION.row(sql`asked.value`);
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${shownColumns(texts)}
    FROM json_each(${asked}) asked
    CROSS JOIN documents d ON ${isDocument(sql`d`, {
      id: version("id"),
      collection: version("collection"),
      submission: version("submission"),
    })}
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

/**
 * The approximate bytes that the newest versions of documents take in an answer. Reads one or two rows per document.
 */
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

/** Documents of one submission by their ids, in the requested order. */
export async function readSubmissionDocuments(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  ids: readonly string[],
  texts: boolean,
): Promise<DocumentRow[]> {
  return query<DocumentRow>(
    db,
    sql`
    SELECT ${shownColumns(texts)}
    FROM json_each(${JSON.stringify(ids)}) asked
    CROSS JOIN documents d ON ${isDocument(sql`d`, {
      id: sql`asked.value`,
      collection: submission.collection,
      submission: submission.id,
    })}
    ${joins(texts)}
    ORDER BY asked.key`,
  );
}

/** A position in the listing of a submission's documents: directly after this document of this part. */
export interface ResultPosition {
  readonly part: number;
  readonly index: number;
}

/** The position of a document in its submission's listing; `null` if it is not recorded or was deleted. */
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
    WHERE ${isDocument(sql`d`, { id, collection: submission.collection, submission: submission.id })}`,
  );
  return position ?? null;
}

/** A document in this listing: its position, its outcome, and its approximate bytes in an answer. */
export interface ListedDocument {
  readonly position: ResultPosition;
  readonly id: string;
  readonly status: OutcomeStatus | null;
  readonly bytes: number;
}

/**
 * The next documents of a submission in the order of its parts, without texts. Only recorded documents that were not
 * deleted are listed. Reads rows in proportion to `limit` and one part.
 */
export async function listSubmissionDocuments(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  after: ResultPosition | null,
  limit: number,
): Promise<ListedDocument[]> {
  const from = after ?? { part: 0, index: -1 };
  const rows = await query<{ part: number; index: number; id: string; status: OutcomeStatus | null; bytes: number }>(
    db,
    sql`
    SELECT listed.part AS part, i.key AS "index", d.document_id AS id, o.status AS status,
      d.payload_bytes + coalesce(olderInput.payload_bytes, 0) + 40 * d.context_count AS bytes
    FROM parts listed CROSS JOIN json_each(listed.documents) i
    CROSS JOIN documents d ON ${isDocument(sql`d`, {
      id: sql`i.value`,
      collection: submission.collection,
      submission: sql`listed.submission_id`,
    })}
    ${outcomeJoin} ${olderJoin}
    WHERE listed.submission_id = ${submission.id} AND listed.part >= ${from.part}
      AND (listed.part > ${from.part} OR i.key > ${from.index})
    ORDER BY listed.part, i.key LIMIT ${limit}`,
  );
  return rows.map(({ part, index, ...row }) => ({ position: { part, index }, ...row }));
}
