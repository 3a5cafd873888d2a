import { sql, type SQL } from "drizzle-orm";
import type { JobId, JobStatus, Lane, ModelName, RequestId, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { memberSubmission } from "./members.ts";

/** A job without its documents. Times are in milliseconds. */
export interface JobRow {
  readonly id: JobId;
  readonly status: JobStatus;
  readonly lane: Lane;
  readonly model: ModelName;
  readonly requestId: RequestId | null;
  readonly parentId: JobId | null;
  readonly mergedInto: JobId | null;
  readonly refusals: number;
  readonly documentCount: number;
  readonly contexts: number;
  readonly payloadBytes: number;
  readonly tokens: number | null;
  readonly unconfirmed: number;
  readonly repeated: number;
  readonly createdAt: number;
  readonly dispatchedAt: number | null;
  readonly endedAt: number | null;
  readonly dueAt: number | null;
  /** JSON, as in `jobs`. */
  readonly dispatches: string;
  /** JSON: the submissions of its documents, `[id, collection, whether it was canceled]` each. */
  readonly submissions: string;
}

const columns = sql`
  j.id, j.status, j.lane, j.model, j.request_id AS requestId, j.parent_id AS parentId, j.merged_into AS mergedInto, j.refusals,
  j.document_count AS documentCount, j.context_count AS contexts, j.payload_bytes AS payloadBytes, j.tokens,
  j.unconfirmed_dispatches AS unconfirmed, j.repeated_dispatches AS repeated, j.created_at AS createdAt,
  j.dispatched_at AS dispatchedAt, j.ended_at AS endedAt, j.due_at AS dueAt, j.dispatches,
  (SELECT json_group_array(json_array(s.id, s.collection, s.cancel_requested_at IS NOT NULL)) FROM json_each(j.members) g
    CROSS JOIN submissions s ON s.id = ${memberSubmission}) AS submissions`;

export async function readJob(db: Database, id: JobId): Promise<JobRow | null> {
  const [row] = await query<JobRow>(db, sql`SELECT ${columns} FROM jobs j WHERE j.id = ${id}`);
  return row ?? null;
}

/** Statuses of jobs that have not ended. */
const OPEN: readonly JobStatus[] = ["pending", "dispatching", "dispatched"];

/**
 * Jobs after the cursor, the newest first. Reads as many as it returns, and one row per submission of each. With the
 * status of an open job, it reads all open jobs. It cannot filter by lane or by the status of ended jobs: filter its
 * result.
 */
export async function listJobs(
  db: Database,
  filter: { readonly before: JobId | null; readonly status: JobStatus | null },
  limit: number,
): Promise<JobRow[]> {
  const before: SQL = filter.before === null ? sql`` : sql`AND j.id < ${filter.before}`;
  const open = filter.status !== null && OPEN.includes(filter.status);
  const from = open
    ? sql`FROM jobs j INDEXED BY jobs_due WHERE j.due_at IS NOT NULL AND j.status = ${filter.status} ${before}`
    : sql`FROM jobs j WHERE true ${before}`;
  return query<JobRow>(db, sql`SELECT ${columns} ${from} ORDER BY j.id DESC LIMIT ${limit}`);
}

export type JobSubmissions = readonly (readonly [id: SubmissionId, collection: string, isCanceled: 0 | 1])[];
