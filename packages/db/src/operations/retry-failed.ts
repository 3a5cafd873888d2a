import { sql } from "drizzle-orm";
import type { FailureCode, JobId, Lane, ModelName, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query, transact } from "../statements.ts";
import { unfoldSubmission } from "./fold-totals.ts";

/** A failed document whose input is there, with what it weighs in a job. */
export interface FailedDocument {
  readonly document: string;
  /** The job that it failed in. */
  readonly jobId: JobId;
  /** The job that recorded it: a job that follows that one up is found by all of its documents. */
  readonly rootId: JobId;
  readonly contexts: number;
  readonly payloadBytes: number;
  /** Bytes of its contexts' ids. */
  readonly contextIdBytes: number;
}

/** The next failed documents of a submission, by id after `after`. Reads index entries of failures only. */
export async function listFailed(
  db: Database,
  submission: { readonly id: SubmissionId; readonly collection: string },
  code: FailureCode | null,
  after: string,
  limit: number,
): Promise<FailedDocument[]> {
  return query<FailedDocument>(
    db,
    sql`
    SELECT o.document_id AS document, o.job_id AS jobId, p.job_id AS rootId, d.context_count AS contexts, d.payload_bytes AS payloadBytes,
      coalesce(length(CAST(d.context_ids AS BLOB)), 0) AS contextIdBytes
    FROM outcomes o INDEXED BY outcomes_failed
    CROSS JOIN documents d ON d.document_id = o.document_id AND d.collection = o.collection AND d.submission_id = o.submission_id
    CROSS JOIN parts p ON p.submission_id = d.submission_id AND p.part = d.part
    WHERE o.submission_id = ${submission.id} AND o.status = 'failed' AND o.job_id IS NOT NULL
      AND o.document_id > ${after} AND (${code} IS NULL OR o.code = ${code})
    ORDER BY o.document_id LIMIT ${limit}`,
  );
}

/**
 * Queues failed documents again, under the same version, in a new job that follows up the one they
 * failed in: outcomes go, the submission is open again, and the job is there, in one transaction.
 * What is not failed any more is left out. Repeated with the same job it changes nothing.
 */
export async function retryFailed(
  db: Database,
  job: { readonly id: JobId; readonly parent: JobId; readonly model: ModelName; readonly lane: Lane },
  submission: { readonly id: SubmissionId; readonly collection: string },
  documents: readonly string[],
  now: number,
): Promise<number> {
  const list = JSON.stringify(documents);
  const failed = sql`
    SELECT d.document_id, d.context_count, d.payload_bytes FROM json_each(${list}) n
    CROSS JOIN documents d
      ON d.document_id = n.value AND d.collection = ${submission.collection} AND d.submission_id = ${submission.id}
    CROSS JOIN outcomes o
      ON o.document_id = d.document_id AND o.collection = d.collection AND o.submission_id = d.submission_id
    WHERE o.status = 'failed' AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = ${job.id})`;
  const removed = await transact(db, [
    ...unfoldSubmission(submission.id, sql`EXISTS (${failed})`),
    sql`
      UPDATE submissions SET failed = failed - counted.count, completed_at = iif(counted.count > 0, NULL, completed_at)
      FROM (SELECT count(*) AS count FROM (${failed})) counted WHERE id = ${submission.id}`,
    sql`
      INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes, due_at,
        created_at, members)
      SELECT ${job.id}, ${job.model}, ${job.lane}, 'pending', ${job.parent}, 1, count(*), sum(context_count),
        sum(payload_bytes), ${now}, ${now}, json_array(json_array(${submission.id}, json_group_array(document_id)))
      FROM (${failed}) HAVING count(*) > 0
      ON CONFLICT DO NOTHING`,
    // Only while the job waits: repeated later, it would take the failures that the job itself ended in.
    sql`
      DELETE FROM outcomes WHERE collection = ${submission.collection} AND submission_id = ${submission.id}
        AND status = 'failed' AND document_id IN (
          SELECT i.value FROM jobs j CROSS JOIN json_each(j.members, '$[0][1]') i
          WHERE j.id = ${job.id} AND j.status = 'pending' AND j.attempt = 0)
      RETURNING document_id`,
  ]);
  return removed.length;
}
