import * as z from "zod";

/** Two queues, so that a ticket never waits behind a backfill. */
export const lanes = ["interactive", "bulk"] as const;
export type Lane = (typeof lanes)[number];
export const laneSchema = z.enum(lanes);

/**
 * How a job stands.
 *
 *     pending ──start attempt──► dispatching ──request_id──► dispatched ──answer──► succeeded
 *        ▲ │                        │   │                        │
 *        │ └─ nothing left to send  │   └─ failed for good ──────┼─► failed
 *        │        ► canceled        │                            │
 *        └──── refused for now, or lease run out: unconfirmed ◄──┘ stuck, expired
 *                                   └─ too large, invalid, times out alone ─► split (its pieces are jobs of their own)
 *
 * A pending job whose documents have used up their batches (`MAX_BATCHES`) fails. With one batch left, a piece of
 * an invalid batch is split first.
 *
 * - `pending`: recorded, waits to be dispatched. No attempt is open.
 * - `dispatching`: an attempt is started and its list stored; whether Workers AI has it is not known.
 * - `dispatched`: Workers AI gave a `request_id`; it is polled.
 * - `succeeded`: an answer was applied; what it lacked went into a follow-up job.
 * - `split`: replaced by jobs of its documents, two or three as a rule.
 * - `failed`: its documents failed with a reason.
 * - `canceled`: nothing was left to send.
 * - `merged`: another job took over its documents before it was ever dispatched.
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

/** Why dispatching stands still: asked for, the day's neurons are used up, or the account is at fault. */
export const pauseReasons = ["requested", "daily_limit", "configuration"] as const;
export type PauseReason = (typeof pauseReasons)[number];
