import { sql } from "drizzle-orm";
import { type Database, query } from "@sluice/db";
import { isSameDocument } from "./is-document.ts";

/** Recorded documents of a collection, by the status of their newest version. */
export interface CollectionCounts {
  readonly processing: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  /** Versions that were looked at. */
  readonly versions: number;
}

/**
 * Counts the recorded documents among the first `limit` versions of a collection, in the order of their ids. Reads four
 * rows per version at most.
 */
export async function countDocuments(db: Database, collection: string, limit: number): Promise<CollectionCounts> {
  // Of the columns beside `max`, SQLite takes those of the row with the greatest version.
  const [row] = await query<CollectionCounts>(
    db,
    sql`
    SELECT count(*) FILTER (WHERE status IS NULL) AS processing, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
      count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'canceled') AS canceled,
      coalesce(sum(versions), 0) AS versions
    FROM (
      SELECT max(d.submission_id), o.status, count(*) AS versions
      FROM (
        SELECT collection, document_id, submission_id FROM documents WHERE collection = ${collection}
        ORDER BY document_id, submission_id LIMIT ${limit}) d
      LEFT JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)}
      GROUP BY d.document_id)`,
  );
  return row ?? { processing: 0, succeeded: 0, failed: 0, canceled: 0, versions: 0 };
}

/** Submissions in which `isKnownCollection` looks for one without recorded documents. */
const RECENT_SUBMISSIONS = 10_000;

/**
 * Whether a collection has a recorded document, was deleted, or has one of the newest 10,000 submissions, whose documents
 * may still be in the Queue. Reads one row, or those submissions.
 */
export async function isKnownCollection(db: Database, collection: string): Promise<boolean> {
  const [row] = await query<{ known: 0 | 1 }>(
    db,
    sql`
    SELECT EXISTS (SELECT 1 FROM documents WHERE collection = ${collection})
      OR EXISTS (SELECT 1 FROM collection_deletions WHERE collection = ${collection})
      OR EXISTS (SELECT 1 FROM (SELECT collection FROM submissions ORDER BY id DESC LIMIT ${RECENT_SUBMISSIONS})
        WHERE collection = ${collection}) AS known`,
  );
  return row?.known === 1;
}
