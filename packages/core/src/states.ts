import * as z from "zod";

/** Two queues, so that interactive work never waits behind a backfill. */
export const lanes = ["interactive", "bulk"] as const;
export type Lane = (typeof lanes)[number];
export const laneSchema = z.enum(lanes);

/** The statuses of a submission: see `submissionStatus` in packages/pipeline for when each applies. */
export const submissionStatuses = ["receiving", "queued", "processing", "canceling", "completed", "canceled"] as const;
export type SubmissionStatus = (typeof submissionStatuses)[number];

/** How a version of a document ended. */
export const outcomeStatuses = ["succeeded", "failed", "canceled"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];

/** The statuses of a document: `queued` until it is recorded, `processing` until it ends. */
export const documentStatuses = ["queued", "processing", ...outcomeStatuses] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

/**
 * The states of a job.
 *
 *     pending ──start dispatch─► dispatching ──request_id──► dispatched ──answer──► succeeded
 *        ▲ │                        │   │                        │
 *        │ └─ nothing left to send  │   └─ failed for good ──────┼─► failed
 *        │        ► canceled        │                            │
 *        └──── transient error or expired lease: unconfirmed ◄───┘ stuck, expired
 *                                   └─ too large, invalid, times out alone ─► split (its pieces are jobs of their own)
 *
 * A pending job whose documents have used up their batches (`MAX_BATCHES`) fails. With one batch left, a piece of
 * an invalid batch is split first.
 *
 * - `pending`: recorded, waits to be dispatched. No dispatch is open.
 * - `dispatching`: a dispatch is started and its list stored; it is unknown whether Workers AI has it.
 * - `dispatched`: Workers AI returned a `request_id`; it is polled.
 * - `succeeded`: an answer was applied; missing documents are in a follow-up job.
 * - `split`: replaced by jobs of its documents, usually two or three.
 * - `failed`: its documents failed with a reason.
 * - `canceled`: nothing was left to send.
 * - `merged`: another job took over its documents before it was dispatched.
 */
export const jobStatuses = [
  "pending",
  "dispatching",
  "dispatched",
  "succeeded",
  "split",
  "failed",
  "canceled",
  "merged",
] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Why dispatching is paused: requested, the day's neurons are used up, or the account has an error. */
export const pauseReasons = ["requested", "daily_limit", "configuration"] as const;
export type PauseReason = (typeof pauseReasons)[number];

/**
 * How full the database is, from the share of `MAX_DATABASE_BYTES` in use: `high` from 70 %, `pressure` from 85 % and
 * `full` from 95 %. `full` ends below 90 %.
 */
export const databaseLevels = ["normal", "high", "pressure", "full"] as const;
export type DatabaseLevel = (typeof databaseLevels)[number];
