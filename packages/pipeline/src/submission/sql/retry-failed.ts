import { and, eq, sql, type SQL } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { query, retryParts, transact, type Database } from "@sluice/db";
import { unrollSubmission } from "./roll-up-totals.ts";
import type { RequestedRetry, RetryKey, RetryProgress } from "./request-retry.ts";
import { isDocument, isSameDocument } from "../../document/sql/is-document.ts";
import { MEMBER } from "../../job/sql/members.ts";
import { columns } from "../../platform/sql/columns.ts";

/** A part with failed documents that a retry has not reached. */
export interface RetryPart {
  /** The job that recorded it. Later jobs that follow up this one find it by all of its documents. */
  readonly root: JobId;
  readonly part: number;
  /** All documents of the part. */
  readonly documentCount: number;
}

/** A failed document that was not deleted and has its texts, with its weight in a job. */
export interface FailedDocument {
  readonly document: string;
  readonly root: JobId;
  readonly contexts: number;
  readonly payloadBytes: number;
  /** Bytes of its contexts' ids. */
  readonly contextIdBytes: number;
}

/** A planned job: documents of one root. */
export interface RetryJob {
  readonly id: JobId;
  readonly root: JobId;
  readonly documentIds: readonly string[];
}

/** The progress of a retry. */
export interface RetryState extends RetryProgress {
  readonly token: string;
  /** JSON: parts with failed documents are listed up to here; `null` if all are. */
  readonly listedThrough: string | null;
  /** Whether it has not reached some of the listed parts. */
  readonly hasParts: boolean;
  readonly collection: string;
}

/** A failed document, in the order of the index on failures: the progress of `listRetryParts`. */
const LISTED = columns("code", "collection", "document");
const RETRY_JOB = columns("id", "root", "documentIds");
const PAST_PART = columns("root", "part");

/**
 * Whether the texts of the document `d` are there. Retention deletes the row of failed documents as a whole, under
 * pressure and only while no retry is in progress.
 */
const hasTexts = sql`EXISTS (SELECT 1 FROM contexts t WHERE t.id = d.contexts_id)`;

const ofRetry = ({ submission, code }: RetryKey): SQL => sql`submission_id = ${submission} AND code = ${code}`;

/**
 * Whether this retry is the one in progress. A Worker may be late: a cancellation ends a retry, and another with the
 * same key may follow.
 */
const isInProgress = (retry: RequestedRetry): SQL => sql`
  EXISTS (SELECT 1 FROM retries WHERE ${ofRetry(retry)} AND token = ${retry.token})`;

function selectState(retry: RetryKey): SQL {
  return sql`
    SELECT r.token, r.documents AS documentCount, r.queued, r.requested_at AS requestedAt, r.listed_through AS listedThrough, s.collection,
      EXISTS (SELECT 1 FROM retry_parts WHERE ${ofRetry(retry)}) AS hasParts
    FROM retries r CROSS JOIN submissions s ON s.id = r.submission_id
    WHERE r.submission_id = ${retry.submission} AND r.code = ${retry.code}`;
}

type StateRow = Omit<RetryState, "hasParts"> & { readonly hasParts: 0 | 1 };

function stateOf(row: StateRow | undefined): RetryState | null {
  return row === undefined ? null : { ...row, hasParts: row.hasParts === 1 };
}

/** The progress of a retry; `null` if it is complete, was ended by a cancellation, or does not exist. */
export async function readRetry(db: Database, retry: RetryKey): Promise<RetryState | null> {
  const [row] = await query<StateRow>(db, selectState(retry));
  return stateOf(row);
}

/**
 * Lists the parts of the next `limit` failed documents, in the order of the index on failures. A repeated call from the
 * same position changes nothing. Reads three rows per document. Returns the progress of the retry.
 */
export async function listRetryParts(
  db: Database,
  retry: RequestedRetry,
  through: string,
  limit: number,
): Promise<RetryState | null> {
  const from = LISTED.row(sql`${through}`);
  const isNext = sql`EXISTS (SELECT 1 FROM retries WHERE ${ofRetry(retry)} AND token = ${retry.token} AND listed_through = ${through})`;
  const failed = sql`
    SELECT o.code, o.collection, o.document_id FROM outcomes o INDEXED BY outcomes_failed
    WHERE o.submission_id = ${retry.submission} AND o.status = 'failed' AND (${retry.code} = '' OR o.code = ${retry.code})
      AND (o.code, o.collection, o.document_id) > (${from("code")}, ${from("collection")}, ${from("document")})
    ORDER BY o.code, o.collection, o.document_id LIMIT ${limit}`;
  const [row] = await transact<StateRow>(db, [
    sql`
      INSERT INTO retry_parts (submission_id, code, root_id, part, documents)
      SELECT DISTINCT p.submission_id, ${retry.code}, p.job_id, p.part, p.document_count FROM (${failed}) f
      CROSS JOIN documents d
        ON ${isDocument(sql`d`, { id: sql`f.document_id`, collection: sql`f.collection`, submission: retry.submission })}
      CROSS JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
      WHERE ${isNext}
      ON CONFLICT DO NOTHING`,
    sql`
      UPDATE retries SET listed_through = (
        SELECT ${LISTED.array({ code: sql`code`, collection: sql`collection`, document: sql`document_id` })} FROM (${failed}) LIMIT 1 OFFSET ${limit - 1})
      WHERE ${ofRetry(retry)} AND token = ${retry.token} AND listed_through = ${through}`,
    selectState(retry),
  ]);
  return stateOf(row);
}

/** Reads the next parts of a retry, in the order of their roots. */
export async function readRetryParts(
  db: Database,
  { submission, code }: RetryKey,
  limit: number,
): Promise<RetryPart[]> {
  return db
    .select({ root: retryParts.rootId, part: retryParts.part, documentCount: retryParts.documents })
    .from(retryParts)
    .where(and(eq(retryParts.submissionId, submission), eq(retryParts.code, code)))
    .orderBy(retryParts.rootId, retryParts.part)
    .limit(limit);
}

/**
 * Reads the failed documents of parts, in the order of the parts and within them. Those whose texts expired are left
 * out. Reads four rows per document of a part.
 */
export async function listFailed(
  db: Database,
  { submission, code }: RetryKey,
  collection: string,
  parts: readonly Pick<RetryPart, "part">[],
): Promise<FailedDocument[]> {
  return query(
    db,
    sql`
    SELECT d.document_id AS document, p.job_id AS root, d.context_count AS contexts, d.payload_bytes AS payloadBytes,
      coalesce(length(CAST(d.context_ids AS BLOB)), 0) AS contextIdBytes
    FROM json_each(${JSON.stringify(parts.map(({ part }) => part))}) n
    CROSS JOIN parts p ON p.submission_id = ${submission} AND p.part = n.value
    CROSS JOIN json_each(p.documents) i
    CROSS JOIN outcomes o ON ${isDocument(sql`o`, { id: sql`i.value`, collection, submission })}
      AND o.status = 'failed' AND o.job_id IS NOT NULL AND (${code} = '' OR o.code = ${code})
    CROSS JOIN documents d ON ${isSameDocument(sql`d`, sql`o`)} AND ${hasTexts}
    ORDER BY n.key, i.key`,
  );
}

/**
 * Queues failed documents again, under the same version, in new jobs that follow up the jobs that recorded them. One
 * transaction deletes outcomes, reopens the submission, inserts the jobs, and moves the retry past `parts`, its next
 * parts. Documents that are no longer failed, or whose texts expired, are left out. Changes nothing if another Worker was faster or a
 * cancellation ended the retry. Ten statements for any number of jobs. Returns the progress of the retry.
 */
export async function retryFailed(
  db: Database,
  retry: RequestedRetry,
  collection: string,
  parts: readonly [RetryPart, ...RetryPart[]],
  jobs: readonly RetryJob[],
  now: number,
): Promise<RetryState | null> {
  const { submission } = retry;
  const [first] = parts;
  const past = PAST_PART.row(sql`value`);
  const list = JSON.stringify(jobs.map((job) => RETRY_JOB.list(job)));
  const job = RETRY_JOB.row(sql`g.value`);
  const jobDocuments = sql`json_each(g.value, ${RETRY_JOB.path("documentIds")})`;
  // The last statement but one deletes the first part. Until then, its row shows that it is this call's turn.
  const isNext = sql`
    ${isInProgress(retry)} AND EXISTS (SELECT 1 FROM retry_parts WHERE ${ofRetry(retry)} AND root_id = ${first.root} AND part = ${first.part})`;
  const failedOf = (documents: SQL) => sql`
    FROM ${documents} i
    CROSS JOIN documents d ON ${isDocument(sql`d`, { id: sql`i.value`, collection, submission })}
    CROSS JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)} AND o.status = 'failed' AND ${hasTexts}`;
  const failed = sql`
    SELECT d.document_id ${failedOf(sql`json_each(${list}) g CROSS JOIN ${jobDocuments}`)} WHERE ${isNext}`;
  const [row] = await transact<StateRow>(db, [
    ...unrollSubmission(submission, sql`EXISTS (${failed})`),
    sql`
      UPDATE submissions SET failed = failed - counted.count, completed_at = iif(counted.count > 0, NULL, completed_at)
      FROM (SELECT count(*) AS count FROM (${failed})) counted WHERE id = ${submission}`,
    sql`
      UPDATE retries SET queued = queued + (SELECT count(*) FROM (${failed})) WHERE ${ofRetry(retry)}`,
    sql`
      WITH planned AS MATERIALIZED (
        SELECT ${job("id")} AS id, ${job("root")} AS root, (
          SELECT json_object('count', count(*), 'contexts', sum(d.context_count), 'bytes', sum(d.payload_bytes),
            'documents', json_group_array(d.document_id)) ${failedOf(jobDocuments)}) AS held
        FROM json_each(${list}) g WHERE ${isNext})
      INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes, due_at,
        created_at, members)
      SELECT p.id, s.model, s.lane, 'pending', p.root, 1, p.held ->> 'count', p.held ->> 'contexts', p.held ->> 'bytes',
        ${now}, ${now}, json_array(${MEMBER.array({ submission: sql`s.id`, documents: sql`json(p.held -> 'documents')` })})
      FROM planned p CROSS JOIN submissions s ON s.id = ${submission}
      WHERE p.held ->> 'count' > 0`,
    sql`
      DELETE FROM outcomes WHERE collection = ${collection} AND submission_id = ${submission} AND status = 'failed'
        AND EXISTS (SELECT 1 FROM documents d WHERE ${isSameDocument(sql`d`, sql`outcomes`)} AND ${hasTexts})
        AND document_id IN (
          SELECT i.value FROM json_each(${list}) g CROSS JOIN ${jobDocuments} i WHERE ${isNext})`,
    sql`
      DELETE FROM retry_parts WHERE ${ofRetry(retry)} AND ${isInProgress(retry)} AND (root_id, part) IN (
        SELECT ${past("root")}, ${past("part")} FROM json_each(${JSON.stringify(parts.map((part) => PAST_PART.list(part)))}))`,
    selectState(retry),
  ]);
  return stateOf(row);
}

/** Ends a complete retry. A repeated or early call changes nothing. */
export async function endRetry(db: Database, retry: RequestedRetry): Promise<void> {
  await query(
    db,
    sql`
    DELETE FROM retries WHERE ${ofRetry(retry)} AND token = ${retry.token} AND listed_through IS NULL
      AND NOT EXISTS (SELECT 1 FROM retry_parts WHERE ${ofRetry(retry)})`,
  );
}
