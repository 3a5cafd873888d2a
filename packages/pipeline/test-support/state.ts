import { listMembers, type JobMembers } from "../src/job/members.ts";
import type { JobId, JobStatus, SubmissionId } from "@sluice/core";

export async function rows<Row = Record<string, unknown>>(d1: D1Database, sql: string): Promise<Row[]> {
  return (await d1.prepare(sql).all<Row>()).results;
}

/** The counters of a submission, to be compared as a whole. */
export interface Counters {
  readonly total: number;
  readonly recorded: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  readonly completed: boolean;
}

export async function counters(d1: D1Database, submission: SubmissionId): Promise<Counters | undefined> {
  const [row] = await rows<Omit<Counters, "completed"> & { completed: number }>(
    d1,
    `SELECT total, recorded, succeeded, failed, canceled, completed_at IS NOT NULL AS completed
     FROM submissions WHERE id = '${submission}'`,
  );
  return row === undefined ? undefined : { ...row, completed: row.completed === 1 };
}

/** A job's row for tests. `documents` are in the order sent. */
export interface JobRow {
  readonly id: JobId;
  readonly status: JobStatus;
  readonly parent: JobId | null;
  readonly round: number;
  readonly dispatchNumber: number;
  readonly refusals: number;
  readonly requestId: string | null;
  readonly dueAt: number | null;
  readonly unconfirmed: number;
  readonly repeated: number;
  readonly documents: readonly string[];
  readonly dispatches: readonly {
    readonly number: number;
    readonly started_at: number;
    readonly request_id?: string;
    readonly ended_at?: number;
    readonly error?: { readonly reason: string; readonly message: string };
  }[];
}

/** Reads every job, the oldest first. */
export async function jobs(d1: D1Database): Promise<JobRow[]> {
  const found = await rows<Omit<JobRow, "documents" | "dispatches"> & { members: string; dispatches: string }>(
    d1,
    `SELECT id, status, parent_id AS parent, round, dispatch_number AS dispatchNumber, refusals, request_id AS requestId, due_at AS dueAt,
       unconfirmed_dispatches AS unconfirmed, repeated_dispatches AS repeated, members, dispatches
     FROM jobs ORDER BY created_at, id`,
  );
  return found.map(({ members, dispatches, ...row }) => ({
    ...row,
    documents: listMembers(JSON.parse(members) as JobMembers).map(({ document }) => document),
    dispatches: JSON.parse(dispatches) as JobRow["dispatches"],
  }));
}

/** Reads the only job. Throws if there are others. */
export async function onlyJob(d1: D1Database): Promise<JobRow> {
  const found = await jobs(d1);
  const [job] = found;
  if (job === undefined || found.length > 1) throw new Error(`expected one job, found ${found.length}`);
  return job;
}

/** Reads the scores of each document from the view, best first. */
export async function scoresInView(d1: D1Database): Promise<Record<string, [contextId: string, score: number][]>> {
  const found = await rows<{ document_id: string; context_id: string; score: number; rank: number }>(
    d1,
    "SELECT document_id, context_id, score, rank FROM scores ORDER BY document_id, rank",
  );
  const byDocument: Record<string, [string, number][]> = {};
  for (const { document_id: document, context_id: context, score, rank } of found) {
    const list = (byDocument[document] ??= []);
    list.push([context, score]);
    if (rank !== list.length) throw new Error(`${document} has rank ${rank} at position ${list.length}`);
  }
  return byDocument;
}
