import { EVERYTHING, lastPause, modelScope, submissionScope } from "@sluice/pipeline/job/pause-scopes.ts";
import { documentStatuses, FAILURES, lanes, type FailureCode } from "@sluice/core";
import { waitingOfJob } from "@sluice/pipeline/job/waiting.ts";
import type { RankedScore } from "@sluice/pipeline/score/rank-scores.ts";
import type { DocumentRow } from "@sluice/pipeline/document/sql/read-document.ts";
import type { HoldingJob } from "@sluice/pipeline/job/sql/read-holding-jobs.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import type { Include } from "../http/query.ts";
import { time, timeSchema, waitingSchema, waitingShape, type Waiting } from "./time.ts";

const scoreSchema = z.strictObject({
  rank: z.int().min(1).describe("1 is best; ties by index."),
  score: z.number().describe("A similarity. Only scores of one model are comparable."),
  context_id: z.string(),
  context_index: z.int().min(0),
  text: z
    .string()
    .nullable()
    .optional()
    .describe("With `include=text`; null if the text expired or the input of that version was deleted."),
  text_expired_at: timeSchema
    .nullable()
    .optional()
    .describe("With `include=text`: when retention deleted the text; null if there is one."),
});
type ScoreShape = z.infer<typeof scoreSchema>;

/** A document as every route returns it. */
export const documentOutSchema = z.strictObject({
  id: z.string(),
  collection: z.string(),
  status: z
    .enum(documentStatuses)
    .describe(
      "`queued`: in the Queue and not recorded yet; its submission counts it, and its id is not found. `processing`: " +
        "recorded and not ended; `waiting` says what it waits for. `succeeded`: it has scores. `failed`: it ended without " +
        "scores, see `error`. `canceled`: its submission was canceled before it was dispatched. The list is closed.",
    ),
  query: z.string(),
  model: z.string(),
  lane: z.enum(lanes),
  scores: z.array(scoreSchema).describe("Best first, of the version `scored_submission_id`."),
  scored_submission_id: z.string().nullable(),
  stale: z.boolean().describe("Whether the scores are of an older version."),
  error: z
    .strictObject({
      code: z.string(),
      message: z.string(),
      retryable: z.boolean().describe("Whether a retry may help."),
    })
    .nullable(),
  attempts: z.int().min(0).describe("Answers that were used up, plus the one that it waits for."),
  metadata: z
    .looseObject({})
    .nullable()
    .optional()
    .describe(
      "With `include=metadata`: numbers, strings and names exactly as they were pushed, including numbers that a double " +
        "cannot represent. Null if there is none.",
    ),
  submission_id: z.string().describe("The push of this version."),
  job_id: z.string().nullable(),
  waiting: waitingSchema.nullable(),
  created_at: timeSchema,
  dispatched_at: timeSchema.nullable(),
  finalized_at: timeSchema.nullable(),
});
export type DocumentShape = z.infer<typeof documentOutSchema>;

export interface DocumentView {
  /** Scores shown at most, the best first; `null`: all. */
  readonly topK: number | null;
  readonly include: readonly Include[];
}

/**
 * A document as JSON text. Metadata is inserted as it is stored and never parsed: a number in it may have more digits than
 * JavaScript can represent.
 */
export function documentJson(shape: DocumentShape, row: DocumentRow, { include }: DocumentView): string {
  const json = JSON.stringify(shape);
  return include.includes("metadata") ? `${json.slice(0, -1)},"metadata":${row.metadata ?? "null"}}` : json;
}

/** A document without its metadata. `job`: the one that holds it, if it has not ended. `now`: milliseconds since the epoch. */
export function documentShape(
  row: DocumentRow,
  job: HoldingJob | null,
  view: DocumentView,
  { now, pauses }: { readonly now: number; readonly pauses: readonly Pause[] },
): DocumentShape {
  const stale = row.olderSubmissionId !== null;
  return {
    id: row.documentId,
    collection: row.collection,
    status: row.status ?? "processing",
    query: row.query,
    model: row.model,
    lane: row.lane,
    scores: scoreShapes(
      stale ? row.olderScores : row.scores,
      view.include.includes("text")
        ? stale
          ? { contexts: row.olderContexts, expiredAt: row.olderContextsExpiredAt }
          : { contexts: row.contexts, expiredAt: row.contextsExpiredAt }
        : null,
      view.topK,
    ),
    scored_submission_id: stale ? row.olderSubmissionId : row.status === "succeeded" ? row.submissionId : null,
    stale,
    error: errorShape(row),
    attempts: row.attempts ?? attemptsOf(job),
    submission_id: row.submissionId,
    job_id: row.status === null ? (job?.id ?? row.rootJobId) : row.outcomeJobId,
    waiting: row.status === null ? waitingOfDocument(row, job, pauses, now) : null,
    created_at: time(row.createdAt),
    dispatched_at: time(row.status === null ? (job?.dispatchedAt ?? null) : row.outcomeDispatchedAt),
    finalized_at: time(row.finalizedAt),
  };
}

/** The job that recorded a document, if it certainly still holds it. */
export function rootJob(row: DocumentRow): HoldingJob | null {
  if (row.rootDivided === 1 || row.rootJobId === null || row.rootStatus === null || row.rootDueAt === null) return null;
  return {
    id: row.rootJobId,
    status: row.rootStatus,
    dispatchNumber: row.rootDispatchNumber ?? 0,
    round: row.rootRound ?? 1,
    refusals: row.rootRefusals ?? 0,
    dispatchedAt: row.rootDispatchedAt,
    dueAt: row.rootDueAt,
  };
}

function scoreShapes(
  scores: string | null,
  texts: { readonly contexts: string | null; readonly expiredAt: number | null } | null,
  topK: number | null,
): ScoreShape[] {
  if (scores === null) return [];
  const ranked = JSON.parse(scores) as RankedScore[];
  // Retention leaves the time in place of a document's texts, or deletes their row.
  const kept = JSON.parse(texts?.contexts ?? "null") as string[] | number | null;
  const contexts = Array.isArray(kept) ? kept : [];
  const expiredAt = typeof kept === "number" ? kept : (texts?.expiredAt ?? null);
  return ranked.slice(0, topK ?? ranked.length).map(([index, score, id], position) => ({
    rank: position + 1,
    score,
    context_id: id ?? String(index),
    context_index: index,
    ...(texts !== null && { text: contexts[index] ?? null, text_expired_at: time(expiredAt) }),
  }));
}

function errorShape(row: DocumentRow): DocumentShape["error"] {
  if (row.status !== "failed" || row.code === null) return null;
  const kind = Object.hasOwn(FAILURES, row.code) ? FAILURES[row.code as FailureCode] : null;
  return {
    code: row.code,
    message: row.message ?? kind?.message ?? "",
    // A later version of Sluice may have written an unknown code: a retry does no harm.
    retryable: kind?.retryable ?? true,
  };
}

function attemptsOf(job: HoldingJob | null): number {
  if (job === null) return 0;
  return job.dispatchNumber > 0 ? job.round : job.round - 1;
}

function waitingOfDocument(
  row: DocumentRow,
  job: HoldingJob | null,
  pauses: readonly Pause[],
  now: number,
): Waiting | null {
  // A cancellation takes effect at once, even during a pause.
  const scopes = row.isCanceled === 1 ? [] : [EVERYTHING, modelScope(row.model), submissionScope(row.submissionId)];
  const pause = lastPause(pauses, scopes);
  if (job === null) return waitingShape({ reason: "dispatch", until: null });
  return waitingShape(waitingOfJob(job, pause, now));
}
