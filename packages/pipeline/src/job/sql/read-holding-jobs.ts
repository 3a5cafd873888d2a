import { sql } from "drizzle-orm";
import type { JobId, JobStatus, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { memberDocuments, memberSubmission } from "./members.ts";

/** The job that holds a document that has not ended, with its progress. */
export interface HoldingJob {
  readonly id: JobId;
  readonly status: JobStatus;
  readonly dispatchNumber: number;
  readonly round: number;
  readonly refusals: number;
  readonly dispatchedAt: number | null;
  readonly dueAt: number | null;
}

const ASKED = columns("submission", "id");

/**
 * The open jobs that hold documents whose first job has ended: its follow-ups, its pieces, the job that it was merged
 * into, and theirs. `root` is the job that recorded the document. Reads the lists of the open jobs.
 */
export async function readHoldingJobs(
  db: Database,
  documents: readonly { readonly root: JobId; readonly submission: SubmissionId; readonly id: string }[],
): Promise<(HoldingJob & { readonly submission: SubmissionId; readonly document: string })[]> {
  if (documents.length === 0) return [];
  const roots = JSON.stringify([...new Set(documents.map((document) => document.root))]);
  const asked = JSON.stringify(documents.map((document) => ASKED.list(document)));
  const askedFor = ASKED.row(sql`value`);
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
    SELECT ${memberSubmission} AS submission, i.value AS document,
      j.id, j.status, j.dispatch_number AS dispatchNumber, j.round, j.refusals, j.dispatched_at AS dispatchedAt, j.due_at AS dueAt
    FROM line CROSS JOIN jobs j ON j.id = line.id AND j.due_at IS NOT NULL
    CROSS JOIN json_each(j.members) g CROSS JOIN ${memberDocuments} i
    WHERE (${memberSubmission}, i.value) IN (SELECT ${askedFor("submission")}, ${askedFor("id")} FROM json_each(${asked}))`,
  );
}
