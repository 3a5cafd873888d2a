import { ABANDONED_AFTER_MS, STALLED_AFTER_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { EVERYTHING, lastPause, modelScope, submissionScope } from "@sluice/pipeline/job/pause-scopes.ts";
import { lanes, submissionStatuses } from "@sluice/core";
import { submissionStatus } from "@sluice/pipeline/submission/submission-status.ts";
import { waitingOfJob, waitingOfPause } from "@sluice/pipeline/job/waiting.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type { RetryProgress } from "@sluice/pipeline/submission/sql/request-retry.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { WaitingJobRow } from "@sluice/pipeline/job/sql/read-waiting-jobs.ts";
import * as z from "zod";
import { count, time, timeSchema, waitingSchema, waitingShape, type Waiting } from "./time.ts";

/** Filters of a list of submissions: a status, or `stalled`. */
export const submissionFilters = [...submissionStatuses, "stalled"] as const;

export const countsSchema = z
  .strictObject({ total: count, queued: count, processing: count, succeeded: count, failed: count, canceled: count })
  .describe(
    "Documents by status; `total` is the sum of the others. While receiving, `total` is what was sent so far. `canceled` " +
      "includes documents that were deleted before they ended; these are not among the results.",
  );
export type Counts = z.infer<typeof countsSchema>;

/** A submission as every route returns it. */
export const submissionSchema = z.strictObject({
  id: z.string(),
  collection: z.string(),
  model: z.string(),
  lane: z.enum(lanes),
  label: z.string().nullable(),
  status: z
    .enum(submissionStatuses)
    .describe(
      "`receiving`: its push is running, or was interrupted and can be resumed. `queued`: all of it is sent and nothing is " +
        "recorded. `processing`: documents are recorded and have not all ended, including while paused (see `waiting`), or " +
        "a `retry` is queueing failed ones again. `canceling`: it is canceled; dispatched documents finish, and documents " +
        "in the Queue end when they arrive, or as `message_lost`. `completed`: every document ended, failures included, " +
        "and no `retry` is in progress. `canceled`: every document ended after a cancel. The list is closed.",
    ),
  counts: countsSchema,
  failures: z.record(z.string(), count).describe("Failed documents by code."),
  incomplete: z.boolean().describe("Whether its push was interrupted and closed with what it had sent."),
  stalled: z
    .strictObject({ missing: count, since: timeSchema })
    .nullable()
    .describe("Documents that were sent and not recorded for 10 minutes. `?status=stalled` lists such submissions."),
  waiting: waitingSchema.nullable(),
  retry: z
    .strictObject({
      documents: count.describe("Failed documents when it was requested."),
      queued: count.describe("Documents that it has queued again so far."),
      since: timeSchema,
    })
    .nullable()
    .describe("A retry that has not queued all of its documents yet: the others still count as failed."),
  usage: z.strictObject({
    tokens: count,
    jobs: count,
    unconfirmed_dispatches: count.describe("Dispatches that Workers AI may or may not have run."),
  }),
  created_at: timeSchema,
  completed_at: timeSchema.nullable(),
});
export type SubmissionShape = z.infer<typeof submissionSchema>;

/** Facts about a submission that are not in its row. */
export interface SubmissionSurroundings {
  /** Recorded documents that failed, by code. */
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  /** Its retry in progress. */
  readonly retry: RetryProgress | null;
  /** Open jobs that hold its documents. */
  readonly jobs: readonly Pick<WaitingJobRow, "status" | "refusals" | "dueAt">[];
  readonly pauses: readonly Pause[];
}
export const NOTHING_AROUND: SubmissionSurroundings = { failures: [], retry: null, jobs: [], pauses: [] };

/** `now` in milliseconds. */
export function submissionShape(row: SubmissionRow, around: SubmissionSurroundings, now: number): SubmissionShape {
  return {
    id: row.id,
    collection: row.collection,
    model: row.model,
    lane: row.lane,
    label: row.label,
    status: submissionStatus(row),
    counts: countsShape(row),
    failures: {
      ...Object.fromEntries(around.failures.map(({ code, count }) => [code, count])),
      ...(row.lost > 0 && { message_lost: row.lost }),
    },
    incomplete: row.incomplete,
    stalled: stalledShape(row, now),
    waiting: waitingOfSubmission(row, around, now),
    retry: retryShape(around.retry),
    usage: { tokens: row.tokens, jobs: row.jobs, unconfirmed_dispatches: row.unconfirmedDispatches },
    created_at: time(row.createdAt),
    completed_at: row.isRetrying ? null : time(row.completedAt),
  };
}

function retryShape(retry: RetryProgress | null): SubmissionShape["retry"] {
  return retry && { documents: retry.documentCount, queued: retry.queued, since: time(retry.requestedAt) };
}

export type CountedRow = Pick<SubmissionRow, "total" | "recorded" | "succeeded" | "failed" | "canceled" | "lost">;

export function countsShape(row: CountedRow): Counts {
  return {
    total: row.total,
    queued: missing(row),
    processing: processing(row),
    succeeded: row.succeeded,
    failed: row.failed + row.lost,
    canceled: row.canceled,
  };
}

/** Documents that were sent and are neither recorded nor lost. */
function missing(row: CountedRow): number {
  return row.total - row.recorded - row.lost;
}

/** Recorded documents that have not ended. */
export function processing(row: CountedRow): number {
  return row.recorded - row.succeeded - row.failed - row.canceled;
}

/** A submission shows the first of these that one of its jobs waits for: refused jobs come before those with an answer to come. */
const REASONS = ["retry", "answer", "dispatch"] as const;

function waitingOfSubmission(
  row: SubmissionRow,
  { jobs, pauses }: SubmissionSurroundings,
  now: number,
): Waiting | null {
  if (row.completedAt !== null && !row.isRetrying) return null;
  // A cancellation takes effect at once, even during a pause.
  const scopes = row.cancelRequestedAt === null ? [EVERYTHING, modelScope(row.model), submissionScope(row.id)] : [];
  const pause = lastPause(pauses, scopes);
  if (missing(row) + processing(row) === 0) {
    if (row.closedAt === null) return waitingShape({ reason: "push", until: row.activeAt + ABANDONED_AFTER_MS });
    if (!row.isRetrying) return null;
    return waitingShape(pause === null ? { reason: "dispatch", until: null } : waitingOfPause(pause));
  }
  // A pause does not affect what Workers AI has already: it matters only if something else is left.
  const all = jobs.map((job) => waitingOfJob(job, null, now)).filter((waiting) => waiting !== null);
  const heldBack = missing(row) > 0 || all.length === 0 || all.some((waiting) => waiting.reason !== "answer");
  if (pause !== null && heldBack) return waitingShape(waitingOfPause(pause));
  if (processing(row) === 0) return waitingShape({ reason: "queue", until: null });
  for (const reason of REASONS) {
    const times = all.filter((waiting) => waiting.reason === reason).map(({ until }) => until);
    const known = times.filter((until) => until !== null);
    if (times.length > 0) return waitingShape({ reason, until: known.length === 0 ? null : Math.min(...known) });
  }
  return waitingShape({ reason: "answer", until: null });
}

/** `now` in milliseconds. */
export function stalledShape(row: SubmissionRow, now: number): SubmissionShape["stalled"] {
  if (row.closedAt === null || missing(row) === 0) return null;
  const since = Math.max(row.closedAt, row.activeAt);
  return now - since > STALLED_AFTER_MS ? { missing: missing(row), since: time(since) } : null;
}
