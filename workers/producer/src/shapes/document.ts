import {
  FAILURES,
  type FailureCode,
  type JobId,
  type Lane,
  type ModelName,
  type RankedScore,
  type SubmissionId,
} from "@sluice/core";
import type { DocumentRow, HoldingJob } from "@sluice/db";
import type { Include } from "../http/query.ts";
import { time, type Waiting } from "./time.ts";

export type DocumentStatus = "queued" | "processing" | "succeeded" | "failed" | "canceled";

/** A document as every route gives it. */
export interface DocumentShape {
  readonly id: string;
  readonly collection: string;
  readonly status: DocumentStatus;
  readonly query: string;
  readonly model: ModelName;
  readonly lane: Lane;
  /** Best first; of the version `scored_submission_id`. */
  readonly scores: readonly ScoreShape[];
  readonly scored_submission_id: SubmissionId | null;
  /** Whether the scores are those of an older version. */
  readonly stale: boolean;
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  /** Answers that were used up, and the one that is waited for. */
  readonly attempts: number;
  /** Only where asked for. */
  readonly metadata?: unknown;
  readonly submission_id: SubmissionId;
  readonly job_id: JobId | null;
  readonly waiting: Waiting | null;
  readonly created_at: string;
  readonly dispatched_at: string | null;
  readonly finalized_at: string | null;
}

interface ScoreShape {
  readonly rank: number;
  readonly score: number;
  readonly context_id: string;
  readonly context_index: number;
  /** Only where asked for; `null` where the version it belongs to was pruned. */
  readonly text?: string | null;
}

export interface DocumentView {
  /** Most scores shown; `null`: all. */
  readonly topK: number | null;
  readonly include: readonly Include[];
}

/** `job` is the one that holds the document, where it has not ended; `now` in milliseconds. */
export function documentShape(
  row: DocumentRow,
  job: HoldingJob | null,
  view: DocumentView,
  now: number,
): DocumentShape {
  const stale = row.older_submission_id !== null;
  return {
    id: row.document_id,
    collection: row.collection,
    status: row.status ?? "processing",
    query: row.query,
    model: row.model,
    lane: row.lane,
    scores: scoreShapes(
      stale ? row.older_scores : row.scores,
      view.include.includes("text") ? { contexts: stale ? row.older_contexts : row.contexts } : null,
      view.topK,
    ),
    scored_submission_id: stale ? row.older_submission_id : row.status === "succeeded" ? row.submission_id : null,
    stale,
    error: errorShape(row),
    attempts: row.attempts ?? attemptsOf(job),
    ...(view.include.includes("metadata") && { metadata: row.metadata === null ? null : JSON.parse(row.metadata) }),
    submission_id: row.submission_id,
    job_id: row.status === null ? (job?.id ?? row.root_job_id) : row.outcome_job_id,
    waiting: waiting(job, now),
    created_at: time(row.created_at),
    dispatched_at: time(row.status === null ? (job?.dispatched_at ?? null) : row.outcome_dispatched_at),
    finalized_at: time(row.finalized_at),
  };
}

/** The job that recorded a document, where it holds it still. */
export function rootJob(row: DocumentRow): HoldingJob | null {
  if (row.root_job_id === null || row.root_status === null || row.root_due_at === null) return null;
  return {
    id: row.root_job_id,
    status: row.root_status,
    attempt: row.root_attempt ?? 0,
    round: row.root_round ?? 1,
    refusals: row.root_refusals ?? 0,
    dispatched_at: row.root_dispatched_at,
    due_at: row.root_due_at,
  };
}

function scoreShapes(
  scores: string | null,
  texts: { readonly contexts: string | null } | null,
  topK: number | null,
): ScoreShape[] {
  if (scores === null) return [];
  const ranked = JSON.parse(scores) as RankedScore[];
  const contexts = texts?.contexts == null ? [] : (JSON.parse(texts.contexts) as string[]);
  return ranked.slice(0, topK ?? ranked.length).map(([index, score, id], place) => ({
    rank: place + 1,
    score,
    context_id: id ?? String(index),
    context_index: index,
    ...(texts !== null && { text: contexts[index] ?? null }),
  }));
}

function errorShape(row: DocumentRow): DocumentShape["error"] {
  if (row.status !== "failed" || row.code === null) return null;
  const kind = Object.hasOwn(FAILURES, row.code) ? FAILURES[row.code as FailureCode] : null;
  return {
    code: row.code,
    message: row.message ?? kind?.message ?? "",
    // A code of a later version than this one: queueing again does no harm.
    retryable: kind?.retryable ?? true,
  };
}

function attemptsOf(job: HoldingJob | null): number {
  if (job === null) return 0;
  return job.attempt > 0 ? job.round : job.round - 1;
}

function waiting(job: HoldingJob | null, now: number): Waiting | null {
  if (job === null || job.status !== "pending" || job.refusals === 0) return null;
  return job.due_at !== null && job.due_at > now ? { reason: "retry", until: time(job.due_at) } : null;
}
