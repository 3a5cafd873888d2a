import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query, transact } from "@sluice/db";
import { raiseHighWaterMark } from "../../platform/sql/high-water-marks.ts";
import { moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";

/** The next jobs by id, with the time of their creation. */
export async function listJobsAfter(
  db: Database,
  after: string,
  limit: number,
): Promise<{ readonly id: JobId; readonly createdAt: number }[]> {
  return query(db, sql`SELECT id, created_at AS createdAt FROM jobs WHERE id > ${after} ORDER BY id LIMIT ${limit}`);
}

/**
 * Deletes jobs that ended before a time and are in the totals. A job stays while one that follows it up, replaces it or
 * took over its documents is open: these are found through it. So every document that has not ended keeps its way to
 * its job. A repeated call changes nothing. Reads each job and those that follow it.
 */
export async function deleteEndedJobs(
  db: Database,
  jobs: readonly JobId[],
  before: number,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const list = JSON.stringify(jobs);
  const isListed = sql`id IN (SELECT value FROM json_each(${list}))`;
  await transact(db, [
    raiseHighWaterMark(
      "finalized_sequence",
      sql`
      SELECT finalized_sequence FROM (
        SELECT id, finalized_sequence FROM jobs INDEXED BY jobs_finalized WHERE finalized_sequence IS NOT NULL
        ORDER BY finalized_sequence DESC LIMIT 1)
      WHERE ${isListed}`,
    ),
    sql`
      DELETE FROM jobs WHERE ${isListed} AND due_at IS NULL AND ended_at < ${before}
        AND (finalized_sequence IS NULL OR finalized_sequence <= (SELECT coalesce(max(jobs_through), 0) FROM folds))
        AND NOT EXISTS (
          WITH RECURSIVE line (id) AS (
            SELECT jobs.id
            UNION
            SELECT child.id FROM line CROSS JOIN jobs child INDEXED BY jobs_parent ON child.parent_id = line.id
            UNION
            SELECT absorbed.merged_into FROM line
            CROSS JOIN jobs absorbed ON absorbed.id = line.id AND absorbed.merged_into IS NOT NULL)
          SELECT 1 FROM line CROSS JOIN jobs open ON open.id = line.id AND open.due_at IS NOT NULL)`,
    moveRetention(move, now),
  ]);
}
