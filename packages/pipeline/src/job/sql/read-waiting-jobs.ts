import { sql } from "drizzle-orm";
import type { JobStatus, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { memberSubmission } from "./members.ts";

/** An open job with documents of a submission. */
export interface WaitingJobRow {
  readonly submission: SubmissionId;
  readonly status: JobStatus;
  readonly refusals: number;
  readonly dueAt: number;
}

/** How many of the last parts of a submission to read jobs of. Most waiting documents are there. */
const LAST_PARTS = 20;

/**
 * The open jobs that hold documents of submissions: the jobs that recorded their last 20 parts, and the jobs that
 * follow those. Reads rows in proportion to the submissions.
 */
export async function readWaitingJobs(db: Database, ids: readonly SubmissionId[]): Promise<WaitingJobRow[]> {
  if (ids.length === 0) return [];
  return query(
    db,
    sql`
    WITH RECURSIVE line (submission, id) AS (
      SELECT a.value, p.job_id FROM json_each(${JSON.stringify(ids)}) a
      CROSS JOIN parts p ON p.submission_id = a.value
        AND p.part > (SELECT max(part) FROM parts WHERE submission_id = a.value) - ${LAST_PARTS}
      UNION
      SELECT line.submission, child.id FROM line
      CROSS JOIN jobs child INDEXED BY jobs_parent ON child.parent_id = line.id
      UNION
      SELECT line.submission, absorbed.merged_into FROM line
      CROSS JOIN jobs absorbed ON absorbed.id = line.id AND absorbed.merged_into IS NOT NULL)
    SELECT line.submission, j.status, j.refusals, j.due_at AS dueAt
    FROM line CROSS JOIN jobs j ON j.id = line.id AND j.due_at IS NOT NULL
    WHERE EXISTS (SELECT 1 FROM json_each(j.members) g WHERE ${memberSubmission} = line.submission)`,
  );
}
