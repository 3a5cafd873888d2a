import { sql, type SQL } from "drizzle-orm";
import { CURSOR, type CollectionDeletion } from "./request-deletion.ts";

/** How far the documents of parts are deleted: up to and including this part. */
export interface PartPosition {
  readonly submission: string;
  readonly part: number;
}

/** How far versions are deleted that no part lists anymore. */
export interface VersionPosition {
  readonly documentId: string;
  readonly version: string;
}

/** The cursor of a deletion, parsed. */
export interface DeletionCursor extends PartPosition {
  readonly canceledThrough: string;
  readonly documents: VersionPosition | null;
}

/** A number greater than that of any part. */
export const AFTER_ALL_PARTS = 2 ** 31;

function cursorText({ canceledThrough, submission, part, documents }: DeletionCursor): string {
  const { documentId = null, version = null } = documents ?? {};
  return JSON.stringify(CURSOR.list({ canceledThrough, submission, part, documentId, version }));
}

/** Whether the deletion is still where this step began. */
export const isUnmoved = ({ collection, through, cursor }: CollectionDeletion): SQL => sql`
  collection = ${collection} AND through = ${through} AND cursor IS ${cursor} AND completed_at IS NULL`;

export function moveCursor(deletion: CollectionDeletion, next: DeletionCursor): SQL {
  return sql`UPDATE collection_deletions SET cursor = ${cursorText(next)} WHERE ${isUnmoved(deletion)}`;
}

/** The cursor of a deletion; the start if it has taken no step. */
export function cursorOf({ cursor }: CollectionDeletion): DeletionCursor {
  if (cursor === null) return { canceledThrough: "", submission: "", part: -1, documents: null };
  const [canceledThrough, submission, part, documentId, version] = JSON.parse(cursor) as CursorRow;
  const documents = documentId === null || version === null ? null : { documentId, version };
  return { canceledThrough, submission, part, documents };
}

/** A `CURSOR` row. */
type CursorRow = [string, string, number, string | null, string | null];
