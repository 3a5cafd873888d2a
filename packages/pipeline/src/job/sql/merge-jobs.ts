import { sql, type SQL } from "drizzle-orm";
import { MAX_JOB_DOCUMENTS, type JobId } from "@sluice/core";
import { type Database, query, transact } from "@sluice/db";
import { isMemberDocument, memberDocuments, memberSubmission } from "./members.ts";

/** The weight of a job that may be merged with others. */
export interface MergeableJob {
  readonly id: JobId;
  readonly documentCount: number;
  readonly contexts: number;
  readonly payloadBytes: number;
  /** Bytes of its list. */
  readonly memberBytes: number;
  /** Bytes of the ids of its documents' contexts, as JSON. */
  readonly contextIdBytes: number;
}

/** Whether a job was never dispatched and is not held by a pause. */
const isFresh = (job: SQL) =>
  sql`${job}.status = 'pending' AND ${job}.dispatch_number = 0 AND ${job}.paused_by IS NULL`;

/**
 * Returns the jobs among `jobs` that may be merged, with their weights. They were never dispatched, are not held by a
 * pause, are not a piece of a split job, and have at most half of the documents that a job may have. Reads four rows
 * per document.
 */
export async function weighMergeableJobs(db: Database, jobs: readonly JobId[]): Promise<MergeableJob[]> {
  return query(
    db,
    sql`
    SELECT j.id, j.document_count AS documentCount, j.context_count AS contexts, j.payload_bytes AS payloadBytes,
      length(CAST(j.members AS BLOB)) AS memberBytes, (
        SELECT coalesce(sum(length(CAST(d.context_ids AS BLOB))), 0)
        FROM json_each(j.members) g
        CROSS JOIN submissions s ON s.id = ${memberSubmission}
        CROSS JOIN ${memberDocuments} i
        CROSS JOIN documents d ON ${isMemberDocument}
      ) AS contextIdBytes
    FROM json_each(${JSON.stringify(jobs)}) a CROSS JOIN jobs j ON j.id = a.value
    WHERE ${isFresh(sql`j`)} AND j.document_count BETWEEN 1 AND ${MAX_JOB_DOCUMENTS / 2} AND j.members <> '[]'
      AND NOT EXISTS (
        SELECT 1 FROM jobs p LEFT JOIN jobs q ON q.id = p.parent_id
        WHERE p.id = j.parent_id AND (p.status = 'split' OR q.status = 'split'))`,
  );
}

/**
 * Merges jobs into one of the same model, lane, round and counts, in one transaction. The target takes over their
 * documents, and they end as `merged`, without a finalized sequence. A job that was dispatched, held or ended in the
 * meantime is left out. If that happened to the target, all are. A repeated call changes nothing. Returns the merged
 * jobs.
 */
export async function mergeJobs(
  db: Database,
  target: JobId,
  jobs: readonly JobId[],
  now: number,
): Promise<ReadonlySet<JobId>> {
  const list = JSON.stringify(jobs);
  const absorbed = sql`
    SELECT j.id, j.document_count, j.context_count, j.payload_bytes, j.members, a.key
    FROM jobs t CROSS JOIN json_each(${list}) a CROSS JOIN jobs j ON j.id = a.value
    WHERE t.id = ${target} AND ${isFresh(sql`t`)} AND ${isFresh(sql`j`)} AND j.id <> t.id
      AND (j.model, j.lane, j.round, j.batches, j.halvings, j.refusals)
        = (t.model, t.lane, t.round, t.batches, t.halvings, t.refusals)`;
  const merged = await transact<{ id: JobId }>(db, [
    sql`
      WITH taken AS MATERIALIZED (
        SELECT count(*) AS count, sum(document_count) AS documents, sum(context_count) AS contexts,
          sum(payload_bytes) AS bytes, group_concat(substr(members, 2, length(members) - 2), ',' ORDER BY key) AS members
        FROM (${absorbed}))
      UPDATE jobs SET document_count = document_count + taken.documents, context_count = context_count + taken.contexts,
        payload_bytes = payload_bytes + taken.bytes,
        members = substr(jobs.members, 1, length(jobs.members) - 1) || ',' || taken.members || ']'
      FROM taken WHERE id = ${target} AND taken.count > 0`,
    // After the update of the target, which takes over only jobs that are still pending.
    sql`
      UPDATE jobs SET status = 'merged', merged_into = ${target}, due_at = NULL, ended_at = ${now}
      WHERE id IN (SELECT id FROM (${absorbed}))`,
    sql`
      SELECT j.id FROM json_each(${list}) a CROSS JOIN jobs j ON j.id = a.value WHERE j.merged_into = ${target}`,
  ]);
  return new Set(merged.map(({ id }) => id));
}
