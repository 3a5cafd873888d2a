import { STALLED_AFTER, type Lane, type ModelName, type SubmissionId } from "@sluice/core";
import type { SubmissionRow } from "@sluice/db";
import { time, type Waiting } from "./time.ts";

export type SubmissionStatus = "receiving" | "queued" | "processing" | "canceling" | "completed" | "canceled";

/** A submission as every route gives it. */
export interface SubmissionShape {
  readonly id: SubmissionId;
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly label: string | null;
  readonly status: SubmissionStatus;
  readonly counts: Counts;
  /** Failed documents by code. */
  readonly failures: Readonly<Record<string, number>>;
  readonly incomplete: boolean;
  readonly stalled: { readonly missing: number; readonly since: string } | null;
  readonly waiting: Waiting | null;
  readonly usage: { readonly tokens: number; readonly jobs: number; readonly unconfirmed_dispatches: number };
  readonly created_at: string;
  readonly completed_at: string | null;
}

/** `total` is the sum of the others. */
interface Counts {
  readonly total: number;
  readonly queued: number;
  readonly processing: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

/** `failures` are the recorded documents that failed, by code; `now` in milliseconds. */
export function submissionShape(
  row: SubmissionRow,
  failures: readonly { readonly code: string; readonly count: number }[],
  now: number,
): SubmissionShape {
  return {
    id: row.id,
    collection: row.collection,
    model: row.model,
    lane: row.lane,
    label: row.label,
    status: submissionStatus(row),
    counts: {
      total: row.total,
      queued: missing(row),
      processing: row.recorded - row.succeeded - row.failed - row.canceled,
      succeeded: row.succeeded,
      failed: row.failed + row.lost,
      canceled: row.canceled,
    },
    failures: {
      ...Object.fromEntries(failures.map(({ code, count }) => [code, count])),
      ...(row.lost > 0 && { message_lost: row.lost }),
    },
    incomplete: row.incomplete,
    stalled: stalled(row, now),
    waiting: null,
    usage: { tokens: row.tokens, jobs: row.jobs, unconfirmed_dispatches: row.unconfirmedDispatches },
    created_at: time(row.createdAt),
    completed_at: time(row.completedAt),
  };
}

function submissionStatus(row: SubmissionRow): SubmissionStatus {
  if (row.completedAt !== null) return row.cancelRequestedAt === null ? "completed" : "canceled";
  if (row.cancelRequestedAt !== null) return "canceling";
  if (row.closedAt === null) return "receiving";
  return row.recorded === 0 && row.lost === 0 ? "queued" : "processing";
}

/** Documents that were sent and are neither recorded nor given up. */
function missing(row: SubmissionRow): number {
  return row.total - row.recorded - row.lost;
}

function stalled(row: SubmissionRow, now: number): SubmissionShape["stalled"] {
  if (row.closedAt === null || missing(row) === 0) return null;
  const since = Math.max(row.closedAt, row.activeAt);
  return now - since > STALLED_AFTER ? { missing: missing(row), since: time(since) } : null;
}
