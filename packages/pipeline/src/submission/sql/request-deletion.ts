import { sql, type SQL } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { columns } from "../../platform/sql/columns.ts";
import { highWaterMark } from "../../platform/sql/high-water-marks.ts";
import { isDeleted } from "./is-forgotten.ts";
import { query, transact, type Database } from "@sluice/db";

/** The deletion of a collection: what it covers, and how far it has come. Times in milliseconds. */
export interface CollectionDeletion {
  readonly collection: string;
  /** It covers the collection's submissions up to this one. */
  readonly through: SubmissionId;
  readonly requestedAt: number;
  /** Versions of documents that it has deleted. */
  readonly deletedDocuments: number;
  readonly completedAt: number | null;
  /** JSON, a `CURSOR` row; `null` before its first step. */
  readonly cursor: string | null;
}

/**
 * How far a deletion has come: submissions are canceled up to one; the documents of parts are deleted up to one part;
 * of the others, up to one version, null before the first.
 */
export const CURSOR = columns("canceledThrough", "submission", "part", "documentId", "version");

const selectDeletions = (where: SQL): SQL => sql`
  SELECT collection, through, requested_at AS requestedAt, deleted_documents AS deletedDocuments,
    completed_at AS completedAt, cursor
  FROM collection_deletions WHERE ${where}`;

/** Selects the deletion of a collection. Reads one row. */
export const selectDeletion = (collection: string): SQL => selectDeletions(sql`collection = ${collection}`);

/**
 * Requests that a collection is deleted up to the newest submission, and ends its retries. From then on, no retry of it
 * can be requested, and no interrupted push of it can be resumed. A request during a deletion extends it; after its end,
 * it begins anew. Reads the retries in progress. Returns the deletion, or `null` if there was never a submission.
 */
export async function requestDeletion(db: Database, collection: string, now: Time): Promise<CollectionDeletion | null> {
  const isOpen = sql`completed_at IS NULL`;
  const path = (column: "documentId" | "version") => CURSOR.path(column);
  const deleted = sql`
    submission_id IN (
      SELECT s.id FROM retries r CROSS JOIN submissions s ON s.id = r.submission_id
      CROSS JOIN collection_deletions x ON x.collection = s.collection AND s.id <= x.through
      WHERE s.collection = ${collection})`;
  const [row] = await transact<CollectionDeletion>(db, [
    sql`
      INSERT INTO collection_deletions (collection, through, requested_at)
      SELECT ${collection}, newest, ${now} FROM (
        SELECT max(coalesce((SELECT id FROM submissions ORDER BY id DESC LIMIT 1), ''), ${highWaterMark("submission_id")}) AS newest)
      WHERE newest > ''
      ON CONFLICT (collection) DO UPDATE SET
        through = max(through, excluded.through),
        requested_at = iif(${isOpen}, requested_at, excluded.requested_at),
        deleted_documents = iif(${isOpen}, deleted_documents, 0),
        -- The versions of newer submissions may be anywhere among the others.
        cursor = iif(${isOpen}, json_set(cursor, ${path("documentId")}, NULL, ${path("version")}, NULL), NULL),
        completed_at = NULL`,
    sql`DELETE FROM retry_parts WHERE ${deleted}`,
    sql`DELETE FROM retries WHERE ${deleted}`,
    selectDeletion(collection),
  ]);
  return row ?? null;
}

/** The deletion of a collection; `null` if none was requested. */
export async function readDeletion(db: Database, collection: string): Promise<CollectionDeletion | null> {
  const [row] = await query<CollectionDeletion>(db, selectDeletion(collection));
  return row ?? null;
}

/** Whether a deletion of its collection covers a submission. Reads two rows. */
export async function isSubmissionDeleted(db: Database, id: SubmissionId): Promise<boolean> {
  const rows = await query(db, sql`SELECT 1 FROM submissions s WHERE s.id = ${id} AND ${isDeleted(sql`s`)}`);
  return rows.length > 0;
}

/** One row if a deletion of a collection is in progress. */
export const anyDeletion = sql`
  SELECT 1 FROM collection_deletions INDEXED BY collection_deletions_open WHERE completed_at IS NULL LIMIT 1`;

/** The deletions in progress, the oldest first. Reads as many rows as it returns. */
export async function listDeletions(db: Database, limit: number): Promise<CollectionDeletion[]> {
  return query<CollectionDeletion>(
    db,
    sql`${selectDeletions(sql`completed_at IS NULL`)} ORDER BY requested_at LIMIT ${limit}`,
  );
}
