import { sql } from "drizzle-orm";
import type { JobId, JobStatus, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/** The job that has a document which has not ended: how far it is. */
export interface HoldingJob {
  readonly id: JobId;
  readonly status: JobStatus;
  readonly dispatchNumber: number;
  readonly round: number;
  readonly refusals: number;
  readonly dispatched_at: number | null;
  readonly due_at: number | null;
}

/**
 * The open jobs that hold documents whose first job has ended: its follow-ups and pieces, the job that it was
 * merged into, and theirs. `root` is the job that recorded the document. Reads the lists of the open ones.
 */
export async function readHoldingJobs(
  db: Database,
  documents: readonly { readonly root: JobId; readonly submission: SubmissionId; readonly id: string }[],
): Promise<(HoldingJob & { readonly submission: SubmissionId; readonly document: string })[]> {
  if (documents.length === 0) return [];
  const roots = JSON.stringify([...new Set(documents.map((document) => document.root))]);
  const asked = JSON.stringify(documents.map((document) => [document.submission, document.id]));
  return query(
    db,
    sql`
    WITH RECURSIVE line (id) AS (
      SELECT value FROM json_each(${roots})
      UNION
      SELECT child.id FROM line CROSS JOIN jobs child INDEXED BY jobs_parent ON child.parent_id = line.id
      UNION
      SELECT absorbed.merged_into FROM line
      CROSS JOIN jobs absorbed ON absorbed.id = line.id AND absorbed.merged_into IS NOT NULL)
    SELECT g.value ->> 0 AS submission, i.value AS document,
      j.id, j.status, j.dispatch_number AS dispatchNumber, j.round, j.refusals, j.dispatched_at, j.due_at
    FROM line CROSS JOIN jobs j ON j.id = line.id AND j.due_at IS NOT NULL
    CROSS JOIN json_each(j.members) g CROSS JOIN json_each(g.value, '$[1]') i
    WHERE (g.value ->> 0, i.value) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${asked}))`,
  );
}
