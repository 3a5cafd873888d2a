import { sql } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { memberDocuments, memberSubmission } from "../../job/sql/members.ts";
import { lastSequence } from "../../platform/sql/high-water-marks.ts";
import { isDocument, isSameDocument } from "./is-document.ts";

/** An ended job, with its position in the order in which jobs ended. */
export interface EndedJob {
  readonly id: JobId;
  readonly sequence: number;
  readonly documentCount: number;
}

/** The ended jobs from this sequence on. Reads as many rows as it returns. */
export async function listEndedJobs(db: Database, from: number, limit: number): Promise<EndedJob[]> {
  return query<EndedJob>(
    db,
    sql`
    SELECT id, finalized_sequence AS sequence, document_count AS documentCount FROM jobs INDEXED BY jobs_finalized
    WHERE finalized_sequence >= ${from} AND finalized_sequence IS NOT NULL
    ORDER BY finalized_sequence LIMIT ${limit}`,
  );
}

/** The sequence of the job that ended last, even if it was deleted; 0 if none has ended. Reads two rows. */
export async function readLastSequence(db: Database): Promise<number> {
  const [row] = await query<{ last: number }>(db, sql`SELECT ${lastSequence} AS last`);
  return row?.last ?? 0;
}

/** A document's position in a job. */
export interface JobPlace {
  readonly group: number;
  readonly index: number;
}

/** A document that ended with a job. */
export interface FeedEntry extends JobPlace {
  readonly job: JobId;
  readonly id: string;
  readonly collection: string;
  readonly submission: SubmissionId;
  /** Its approximate bytes in an answer. */
  readonly bytes: number;
}

/**
 * The documents that ended with these jobs, in the order of the jobs and of their positions. `after` is a position in
 * the first job to start behind; `collection` limits them to one. Deleted documents and documents that are queued again
 * are left out. Reads three rows per document and the jobs' lists.
 */
export async function listFeedEntries(
  db: Database,
  jobs: readonly JobId[],
  after: JobPlace | null,
  collection: string | null,
  limit: number,
): Promise<FeedEntry[]> {
  const from = after ?? { group: -1, index: -1 };
  // The loops already run in the requested order. Sorting would first read every document of every job.
  return query<FeedEntry>(
    db,
    sql`
    SELECT j.id AS job, g.key AS "group", i.key AS "index", d.document_id AS id, d.collection, s.id AS submission,
      d.payload_bytes + 40 * d.context_count AS bytes
    FROM json_each(${JSON.stringify(jobs)}) a CROSS JOIN jobs j ON j.id = a.value
    CROSS JOIN json_each(j.members) g
    CROSS JOIN submissions s ON s.id = ${memberSubmission} AND (${collection} IS NULL OR s.collection = ${collection})
    CROSS JOIN ${memberDocuments} i
    CROSS JOIN outcomes o
      ON ${isDocument(sql`o`, { id: sql`i.value`, collection: sql`s.collection`, submission: sql`s.id` })} AND o.job_id = j.id
    CROSS JOIN documents d ON ${isSameDocument(sql`d`, sql`o`)}
    WHERE a.key > 0 OR g.key > ${from.group} OR (g.key = ${from.group} AND i.key > ${from.index})
    LIMIT ${limit}`,
  );
}
