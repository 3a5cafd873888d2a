import { AUDITED } from "../d1/audit.ts";

/** One row that a committed transaction changed: table, event, and the row's columns as AUDITED lists them. */
export type Change = readonly [table: string, event: "insert" | "update" | "delete", ...values: Value[]];
type Value = string | number | null;

export interface SubmissionRow {
  readonly id: string;
  readonly collection: string;
  readonly lane: string;
  readonly label: string | null;
  readonly created_at: number;
  readonly total: number;
  readonly recorded: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  readonly lost: number;
  readonly forgotten: number;
  readonly closed_at: number | null;
  readonly active_at: number;
  readonly cancel_requested_at: number | null;
  readonly completed_at: number | null;
  readonly incomplete: number;
  readonly unconfirmed_dispatches: number;
  readonly tokens: number;
  readonly jobs: number;
  readonly holder: string | null;
}

export interface JobRow {
  readonly id: string;
  readonly lane: string;
  readonly status: string;
  readonly parent_id: string | null;
  readonly merged_into: string | null;
  readonly batches: number;
  readonly halvings: number;
  readonly round: number;
  readonly dispatch_number: number;
  readonly refusals: number;
  readonly request_id: string | null;
  readonly due_at: number | null;
  readonly paused_by: string | null;
  readonly unconfirmed_dispatches: number;
  readonly repeated_dispatches: number;
  readonly dispatched_at: number | null;
  readonly document_count: number;
  readonly context_count: number;
  readonly payload_bytes: number;
  readonly tokens: number | null;
  readonly members: string;
  readonly finalized_sequence: number | null;
}

export interface OutcomeRow {
  readonly document_id: string;
  readonly collection: string;
  readonly submission_id: string;
  readonly status: "succeeded" | "failed" | "canceled";
  readonly job_id: string | null;
  readonly code: string | null;
  readonly attempts: number;
  readonly scores: string | null;
  readonly finalized_at: number;
}

interface Rows {
  readonly submissions: SubmissionRow;
  readonly outcomes: OutcomeRow;
  readonly jobs: JobRow;
}

/** Maps a change's values to their column names. */
export function rowOf<Table extends keyof Rows>(table: Table, change: Change): Rows[Table] {
  const columns: readonly string[] = AUDITED[table];
  return Object.fromEntries(columns.map((column, index) => [column, change[index + 2]])) as unknown as Rows[Table];
}
