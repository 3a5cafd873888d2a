import { sql, type SQL } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { query, transact, transactAll, type Database } from "@sluice/db";
import { forgetDocuments } from "../../document/sql/forget-documents.ts";
import { isDocument } from "../../document/sql/is-document.ts";
import { columns } from "../../platform/sql/columns.ts";
import {
  AFTER_ALL_PARTS,
  isUnmoved,
  moveCursor,
  type DeletionCursor,
  type PartPosition,
  type VersionPosition,
} from "./deletion-cursor.ts";
import { selectDeletion, type CollectionDeletion } from "./request-deletion.ts";

/*
 * The steps of a collection's deletion. Each write is one transaction that is safe to repeat and in any order: it deletes
 * only what the deletion covers, and `through` only rises. A step moves the cursor only if no other Worker did.
 */

/** Submissions that a step looks at. */
const WINDOW = 5_000;
/** Parts, and versions of documents, that a step looks at. */
const MAX_LISTED_PARTS = 1_000;
const MAX_LISTED_VERSIONS = 3_000;

const PART = columns("submission", "part");

/** A part to delete the documents of. */
export interface DeletablePart extends PartPosition {
  readonly documentCount: number;
  /** The row of texts of its first document; `null` if none is left. */
  readonly contexts: number | null;
}

/** The next parts of the collection, and the position after them if there are fewer than one step may take. */
export interface NextParts {
  readonly parts: readonly DeletablePart[];
  readonly end: PartPosition | null;
}

/** Lists the next parts. Looks at up to 5,000 submissions and 1,000 parts. */
export async function listNextParts(
  db: Database,
  { collection, through }: CollectionDeletion,
  at: PartPosition,
): Promise<NextParts> {
  const next = sql`
    SELECT id, collection FROM submissions WHERE id >= ${at.submission} AND id <= ${through} ORDER BY id LIMIT ${WINDOW}`;
  // The loops already run in the order of submissions and parts. Sorting would first read every part.
  const [[window], parts] = (await transactAll(db, [
    sql`SELECT max(id) AS last, count(*) AS count FROM (${next})`,
    sql`
      SELECT p.submission_id AS submission, p.part, p.document_count AS documentCount, (
          SELECT d.contexts_id FROM json_each(p.documents) i
          CROSS JOIN documents d ON ${isDocument(sql`d`, { id: sql`i.value`, collection, submission: sql`p.submission_id` })}
          LIMIT 1) AS contexts
      FROM (${next}) n CROSS JOIN parts p ON p.submission_id = n.id
      WHERE n.collection = ${collection} AND (n.id > ${at.submission} OR p.part > ${at.part})
      LIMIT ${MAX_LISTED_PARTS}`,
  ])) as [{ last: SubmissionId | null; count: number }[], DeletablePart[]];
  if (parts.length === MAX_LISTED_PARTS) return { parts, end: null };
  const last = window?.last == null || window.count < WINDOW ? through : window.last;
  return { parts, end: { submission: last, part: AFTER_ALL_PARTS } };
}

/** Deletes the documents of parts, if there are any. `next` is the position after them. */
export async function forgetParts(
  db: Database,
  deletion: CollectionDeletion,
  parts: readonly PartPosition[],
  next: DeletionCursor,
  now: number,
): Promise<CollectionDeletion | null> {
  const part = PART.row(sql`n.value`);
  const doomed = sql`
    SELECT d.collection, d.document_id, d.submission_id, d.contexts_id, d.contexts_at
    FROM json_each(${JSON.stringify(parts.map((one) => PART.list(one)))}) n
    CROSS JOIN parts p ON p.submission_id = ${part("submission")} AND p.part = ${part("part")}
    CROSS JOIN json_each(p.documents) i
    CROSS JOIN documents d ON ${isDocument(sql`d`, {
      id: sql`i.value`,
      collection: deletion.collection,
      submission: sql`p.submission_id`,
    })}`;
  return forget(db, deletion, parts.length === 0 ? null : doomed, next, now);
}

/** A version that no part lists anymore, in the order of the key. */
export interface DeletableVersion extends VersionPosition {
  /** The row of its texts; `null` if they are gone, or stay. */
  readonly contexts: number | null;
}

/** Lists the next 3,000 versions in the collection by key, with newer ones, which the deletion does not cover. */
export async function listNextVersions(
  db: Database,
  { collection, through }: CollectionDeletion,
  after: VersionPosition | null,
): Promise<DeletableVersion[]> {
  return query<DeletableVersion>(
    db,
    sql`
    SELECT d.document_id AS documentId, d.submission_id AS version, t.id AS contexts
    FROM documents d LEFT JOIN contexts t ON t.id = d.contexts_id AND d.submission_id <= ${through}
    WHERE d.collection = ${collection} AND (d.document_id, d.submission_id) > (${after?.documentId ?? ""}, ${after?.version ?? ""})
    ORDER BY d.document_id, d.submission_id LIMIT ${MAX_LISTED_VERSIONS}`,
  );
}

/** Deletes the versions after one position and up to another that the deletion covers. */
export async function forgetVersions(
  db: Database,
  deletion: CollectionDeletion,
  after: VersionPosition | null,
  end: VersionPosition,
  next: DeletionCursor,
  now: number,
): Promise<CollectionDeletion | null> {
  const doomed = sql`
    SELECT collection, document_id, submission_id, contexts_id, contexts_at FROM documents
    WHERE collection = ${deletion.collection}
      AND (document_id, submission_id) > (${after?.documentId ?? ""}, ${after?.version ?? ""})
      AND (document_id, submission_id) <= (${end.documentId}, ${end.version})
      AND submission_id <= ${deletion.through}`;
  return forget(db, deletion, doomed, next, now);
}

async function forget(
  db: Database,
  deletion: CollectionDeletion,
  doomed: SQL | null,
  next: DeletionCursor,
  now: number,
): Promise<CollectionDeletion | null> {
  const { collection } = deletion;
  const count =
    doomed === null
      ? []
      : [
          sql`
          UPDATE collection_deletions SET deleted_documents = deleted_documents + (SELECT count(*) FROM (${doomed}))
          WHERE collection = ${collection} AND EXISTS (${doomed})`,
          ...forgetDocuments(doomed, now),
        ];
  const [row] = await transact<CollectionDeletion>(db, [
    ...count,
    moveCursor(deletion, next),
    selectDeletion(collection),
  ]);
  return row ?? null;
}

/** Whether a part of the collection is staged that the deletion covers. Reads the keys of staged parts. */
export async function hasStagedParts(db: Database, { collection, through }: CollectionDeletion): Promise<boolean> {
  const rows = await query(
    db,
    sql`
    SELECT 1 FROM staged_parts g CROSS JOIN submissions s ON s.id = g.submission_id
    WHERE s.collection = ${collection} AND s.id <= ${through} LIMIT 1`,
  );
  return rows.length > 0;
}

/** Characters of a message in which its submission is named. */
const HEAD = 400;
const NAMED = '"submission":"';

/**
 * Ends a deletion whose documents are all deleted, and deletes the quarantined messages that name a submission it covers.
 * Reads the heads of all quarantined messages.
 */
export async function completeDeletion(
  db: Database,
  deletion: CollectionDeletion,
  now: number,
): Promise<CollectionDeletion | null> {
  const { collection, through } = deletion;
  const head = sql`substr(m.body, 1, ${HEAD})`;
  const named = sql`substr(${head}, instr(${head}, ${NAMED}) + ${NAMED.length}, 40)`;
  const [row] = await transact<CollectionDeletion>(db, [
    sql`
      DELETE FROM malformed_messages WHERE (queue, message_id) IN (
        SELECT m.queue, m.message_id FROM malformed_messages m CROSS JOIN submissions s ON s.id = ${named}
        WHERE s.collection = ${collection} AND s.id <= ${through})`,
    sql`UPDATE collection_deletions SET completed_at = ${now} WHERE ${isUnmoved(deletion)}`,
    selectDeletion(collection),
  ]);
  return row ?? null;
}
