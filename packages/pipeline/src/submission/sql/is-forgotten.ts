import { sql, type SQL } from "drizzle-orm";

/** Whether a deletion of its collection covers the submission in this row. Reads one row. */
export function isDeleted(row: SQL): SQL {
  return sql`EXISTS (SELECT 1 FROM collection_deletions x WHERE x.collection = ${row}.collection AND x.through >= ${row}.id)`;
}

/**
 * Whether arriving documents of the submission in this row must not be recorded, because a deletion covers it. Reads no
 * further row for a submission that is neither canceled nor lacks documents: a deletion first cancels what has not
 * ended, and what is recorded before that, it deletes later.
 */
export function isForgotten(row: SQL): SQL {
  return sql`((${row}.cancel_requested_at IS NOT NULL OR ${row}.lost > 0) AND ${isDeleted(row)})`;
}
