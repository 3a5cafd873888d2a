import { sql, type SQL } from "drizzle-orm";

/** One version of a document: values, or expressions of a statement. */
interface DocumentKey {
  readonly id: SQL | string;
  readonly collection: SQL | string;
  readonly submission: SQL | string;
}

/**
 * Whether a row of `documents` or `outcomes`, named by its alias, belongs to this version of a document: its whole key.
 */
export function isDocument(row: SQL, { id, collection, submission }: DocumentKey): SQL {
  return sql`${row}.document_id = ${id} AND ${row}.collection = ${collection} AND ${row}.submission_id = ${submission}`;
}

/** Whether two such rows belong to the same version of a document. */
export function isSameDocument(row: SQL, other: SQL): SQL {
  return isDocument(row, {
    id: sql`${other}.document_id`,
    collection: sql`${other}.collection`,
    submission: sql`${other}.submission_id`,
  });
}
