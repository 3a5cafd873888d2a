import { z } from "zod";
import { codelessErrors, serviceCodes } from "./errors.ts";

/**
 * The faults of the stand-in: `POST /plan` with this as JSON. Example:
 *
 *     { "seed": 7, "queued_ms": 0, "running_ms": 0,
 *       "submit": [{ "fault": "3040", "at": [1, 2] }, { "fault": "5006", "match": "POISON" }],
 *       "poll":   [{ "fault": "shape_b", "probability": 0.5 }, { "fault": "stuck", "batches": [3] }],
 *       "items":  [{ "fault": "failed_text", "match": "flaky", "times": 1 }],
 *       "events": [{ "fault": "lost", "types": ["succeeded"], "batches": [2] }] }
 *
 * A rule applies if all its conditions hold; a rule without conditions always applies. Numbers count from 1 since the
 * plan was set or the runtime started, whichever is later. The plan is stored with the batches and lasts until it is
 * replaced or removed. Probabilities depend only on the seed and those numbers, so the same calls with the same plan
 * fail in the same way.
 */
const seed = z.union([z.string(), z.number()]).default(0);
const numbers = z.array(z.int().min(1)).optional();
const probability = z.number().min(0).max(1).optional();
const milliseconds = z.int().min(0).optional();
const hangMilliseconds = z.int().min(1).default(600_000);

/**
 * Faults of a call that submits a batch. The first rule that applies is used.
 *
 * - a code such as `3040`, or `html`, `empty`, `network`, `syntax`, `aborted`: throws that error
 * - `unsuccessful`: returns `{ success: false, errors }` and does not throw
 * - `answer_lost`: accepts the batch, then throws `Network connection lost.`
 * - `no_request_id`: accepts the batch, but the answer has no `request_id`
 * - `stream`: accepts the batch, and the answer is a byte stream of its JSON
 * - `hang`: does not answer for `hang_ms`, then throws 3007
 */
const submitFaults = [
  ...serviceCodes,
  ...codelessErrors,
  "unsuccessful",
  "answer_lost",
  "no_request_id",
  "stream",
  "hang",
] as const;
const submitRule = z.strictObject({
  fault: z.enum(submitFaults),
  /** Numbers of submit calls. */
  at: numbers,
  probability,
  /** Only batches with this text in a query or a context: with `5006`, one bad document fails its batch. */
  match: z.string().min(1).optional(),
  /** Only batches with more requests than this. */
  over_requests: z.int().min(0).optional(),
  hang_ms: hangMilliseconds,
});

/**
 * Faults of a call that polls a batch. The first one without an answer is used; those that change the answer add up.
 *
 * - a code, `html`, `empty`, `network`, `syntax`, `aborted`, `unsuccessful`, `hang`: as for submits
 * - `pending`: the batch is not done for its first `polls` polls (without `polls`: for this one)
 * - `stuck`: like `pending`, forever
 * - `forgotten`: throws 3042
 * - `failed`: returns `{ status: "failed" }`
 * - `shape_b`: `{ results: [{ index, … }] }`; `shape_b_nested`: the same under `result`
 * - `nested`: the whole answer under `result`
 * - `references_null`, `references_absent`: no item has its `external_reference`
 * - `no_usage`: no `usage`
 * - `in_order`, `reversed`: items in the order of the requests, or from the last to the first
 * - `stream`: the answer is a byte stream of its JSON
 */
const silentFaults = [
  ...serviceCodes,
  ...codelessErrors,
  "unsuccessful",
  "hang",
  "pending",
  "stuck",
  "forgotten",
  "failed",
] as const;
const answerFaults = [
  "shape_b",
  "shape_b_nested",
  "nested",
  "references_null",
  "references_absent",
  "no_usage",
  "in_order",
  "reversed",
  "stream",
] as const;
const pollRule = z.strictObject({
  fault: z.enum([...silentFaults, ...answerFaults]),
  /** Numbers of poll calls. */
  at: numbers,
  /** Numbers of batches, in order of acceptance. */
  batches: numbers,
  /** Drawn once per batch for `stuck`, `forgotten` and `failed`, else once per call. */
  probability,
  polls: z.int().min(1).optional(),
  hang_ms: hangMilliseconds,
});

/**
 * Faults of one item in a batch's answer. Drawn when the batch is accepted, so every poll of it returns the same. Several
 * may apply to one item, in the order of the plan.
 *
 * - `missing`, `duplicated`: absent, or repeated
 * - `extra`: an additional item with an id that no request has
 * - `failed_text`, `failed_object`, `failed_list`: `success: false`, the error in one of three forms
 * - `mismatched`: has another `external_reference`
 * - `score_nan`, `score_null`, `score_text`: its first score is not a number
 * - `score_absent`, `score_missing`: its first score has no `score`, or is absent
 * - `no_result`: successful, with `result: null`
 * - `nested`: its result is nested one level deeper
 */
const itemFaults = [
  "missing",
  "duplicated",
  "extra",
  "failed_text",
  "failed_object",
  "failed_list",
  "mismatched",
  "score_nan",
  "score_null",
  "score_text",
  "score_absent",
  "score_missing",
  "no_result",
  "nested",
] as const;
const itemRule = z.strictObject({
  fault: z.enum(itemFaults),
  /** Only requests with this text in their query. */
  match: z.string().min(1).optional(),
  probability,
  /** How often the rule applies to the same query. */
  times: z.int().min(1).optional(),
});

const eventTypes = ["queued", "succeeded", "failed"] as const;
export type EventType = (typeof eventTypes)[number];

/**
 * Faults of an event that reports a batch's state. Drawn once for each batch and state. Several may apply to one event,
 * in the order of the plan.
 *
 * - `lost`: not sent
 * - `repeated`: sent twice
 * - `delayed`: sent `delay_ms` later
 * - `reordered`: sent after the next event, `delay_ms` later at the latest
 */
const eventFaults = ["lost", "repeated", "delayed", "reordered"] as const;
const eventRule = z.strictObject({
  fault: z.enum(eventFaults),
  /** Only events that report these states. */
  types: z.array(z.enum(eventTypes)).optional(),
  /** Numbers of batches, in order of acceptance. */
  batches: numbers,
  probability,
  delay_ms: z.int().min(0).default(5_000),
});

const planSchema = z.strictObject({
  seed,
  submit: z.array(submitRule).default([]),
  poll: z.array(pollRule).default([]),
  items: z.array(itemRule).default([]),
  events: z.array(eventRule).default([]),
  /** Overrides the var QUEUED_MS, and applies in mode `instant` too. */
  queued_ms: milliseconds,
  /** Overrides the var RUNNING_MS, and applies in mode `instant` too. */
  running_ms: milliseconds,
});

export type Plan = z.infer<typeof planSchema>;
export type SubmitRule = Plan["submit"][number];
export type PollRule = Plan["poll"][number];
export type ItemFault = (typeof itemFaults)[number];
export type AnswerFault = (typeof answerFaults)[number];

export const NO_FAULTS: Plan = planSchema.parse({});

export function isAnswerFault(fault: PollRule["fault"]): fault is AnswerFault {
  return answerFaults.some((one) => one === fault);
}

/** Parses a plan. Throws a readable error for an invalid one. */
export function parsePlan(value: unknown): { readonly plan: Plan } | { readonly problem: string } {
  const parsed = planSchema.safeParse(value);
  return parsed.success ? { plan: parsed.data } : { problem: z.prettifyError(parsed.error) };
}
