import { sql, type SQL } from "drizzle-orm";

/** The key of one version of a document: values, or expressions in a statement. */
interface DocumentKey {
  readonly id: SQL | string;
  readonly collection: SQL | string;
  readonly submission: SQL | string;
}

/**
 * Whether a row of `documents` or `outcomes` belongs to this version of a document: compares the whole key. `alias`
 * names the row.
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
