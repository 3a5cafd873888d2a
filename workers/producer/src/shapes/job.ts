import { EVERYTHING, lastPause, modelScope, submissionScope } from "@sluice/pipeline/job/pause-scopes.ts";
import { jobStatuses, lanes } from "@sluice/core";
import { waitingOfJob } from "@sluice/pipeline/job/waiting.ts";
import type { JobRow, JobSubmissions } from "@sluice/pipeline/job/sql/read-jobs.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { count, time, timeSchema, waitingSchema, waitingShape, type Waiting } from "./time.ts";

const attemptSchema = z.strictObject({
  attempt: z.int().min(1),
  started_at: timeSchema,
  ended_at: timeSchema.nullable(),
  request_id: z.string().nullable(),
  error: z
    .strictObject({ reason: z.string(), message: z.string() })
    .nullable()
    .describe("Why it got no answer: a code, and the message of Workers AI."),
});

export const jobUsageSchema = z.strictObject({
  tokens: count.nullable().describe("Known once it is answered, if the answer has a count."),
  unconfirmed_dispatches: count.describe("Dispatches that Workers AI may or may not have run."),
  repeated_dispatches: count.describe("Dispatches that Workers AI accepted and that were given up."),
});

/** One Batch API call. */
export const jobSchema = z.strictObject({
  id: z.string(),
  status: z
    .enum(jobStatuses)
    .describe(
      "`pending`: recorded, waits to be dispatched. `dispatching`: Workers AI may or may not have it. `dispatched`: it waits " +
        "for its answer. `succeeded`: an answer was applied. `split`: replaced by jobs with its documents. `failed`: its " +
        "documents failed. `canceled`: nothing was left to send. `merged`: another job took over its documents before it was " +
        "dispatched, see `merged_into`. The list is closed.",
    ),
  lane: z.enum(lanes),
  model: z.string(),
  request_id: z.string().nullable().describe("Its id at Workers AI."),
  parent_id: z.string().nullable().describe("The job that it follows up, or that it was split from."),
  merged_into: z.string().nullable().describe("The job that took over its documents before it was dispatched."),
  attempts: z.array(attemptSchema).describe("The last 20 dispatches, newest last."),
  document_count: count,
  context_count: count,
  payload_bytes: count.describe("Size of its requests in UTF-8."),
  age_seconds: count.describe("From its recording to its end, or until now."),
  next_poll_at: timeSchema
    .nullable()
    .describe(
      "When the poller next asks for its answer; null for a job that is not dispatched or has ended. See `waiting`.",
    ),
  waiting: waitingSchema.nullable(),
  usage: jobUsageSchema,
  created_at: timeSchema,
  dispatched_at: timeSchema.nullable(),
  ended_at: timeSchema.nullable(),
});
export type JobShape = z.infer<typeof jobSchema>;

/** A dispatch as `jobs` stores it; its token is internal. */
interface StoredDispatch {
  readonly number: number;
  readonly started_at: number;
  readonly ended_at?: number;
  readonly request_id?: string;
  readonly error?: { readonly reason: string; readonly message: string };
}

export function jobShape(row: JobRow, pauses: readonly Pause[], now: number): JobShape {
  const dispatches = JSON.parse(row.dispatches) as StoredDispatch[];
  return {
    id: row.id,
    status: row.status,
    lane: row.lane,
    model: row.model,
    request_id: row.requestId,
    parent_id: row.parentId,
    merged_into: row.mergedInto,
    attempts: dispatches.map(({ number, started_at, ended_at = null, request_id = null, error = null }) => ({
      attempt: number,
      started_at: time(started_at),
      ended_at: time(ended_at),
      request_id,
      error: error === null ? null : { reason: error.reason, message: error.message },
    })),
    document_count: row.documentCount,
    context_count: row.contexts,
    payload_bytes: row.payloadBytes,
    age_seconds: Math.max(0, Math.floor(((row.endedAt ?? now) - row.createdAt) / 1_000)),
    next_poll_at: row.status === "dispatched" ? time(row.dueAt) : null,
    waiting: waitingOfJobRow(row, pauses, now),
    usage: { tokens: row.tokens, unconfirmed_dispatches: row.unconfirmed, repeated_dispatches: row.repeated },
    created_at: time(row.createdAt),
    dispatched_at: time(row.dispatchedAt),
    ended_at: time(row.endedAt),
  };
}

export function submissionsOf(row: JobRow): JobSubmissions {
  return JSON.parse(row.submissions) as JobSubmissions;
}

function waitingOfJobRow(row: JobRow, pauses: readonly Pause[], now: number): Waiting | null {
  const live = submissionsOf(row).filter(([, , isCanceled]) => isCanceled === 0);
  // A cancellation takes effect at once, even during a pause.
  if (live.length === 0) return waitingShape(waitingOfJob(row, null, now));
  const scopes = live.map(([id]) => submissionScope(id));
  // Documents of a paused submission are separated from a job, which then continues: it waits only if all are paused.
  const own = scopes.every((scope) => pauses.some((pause) => pause.scope === scope)) ? scopes : [];
  return waitingShape(waitingOfJob(row, lastPause(pauses, [EVERYTHING, modelScope(row.model), ...own]), now));
}
