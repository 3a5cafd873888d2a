import type { RequestId } from "@sluice/core";
import { hasFailed, statusOf } from "./batch-status.ts";
import type { BatchBinding } from "./binding.ts";
import type { Bounded } from "./bounded.ts";
import { callService } from "./call-service.ts";
import { classify, type Refusal } from "./failure-classes.ts";
import { signsOf } from "./failure-signs.ts";
import { MAX_NESTING, isRecord, type Fields } from "./values.ts";

/** One entry of an answer, unparsed. `matchAnswer` parses it. */
export type AnswerItem = Fields;

export type PollOutcome =
  | { readonly kind: "pending"; readonly state: "queued" | "running" }
  | {
      readonly kind: "answered";
      /** In any order; some may be missing, repeated or malformed. */
      readonly items: readonly AnswerItem[];
      /** Tokens of the whole batch; `null` if the service does not report them. */
      readonly tokens: number | null;
    }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/**
 * Polls Workers AI for a batch once. `model` must be the one of the submit. Every result is a value, including
 * failures. Throws on an empty `requestId`, because the binding would drop it and run something else.
 */
export async function pollBatch(
  binding: BatchBinding,
  model: string,
  requestId: RequestId,
  bounded: Bounded,
): Promise<PollOutcome> {
  if (typeof requestId !== "string" || requestId.trim() === "") {
    throw new TypeError("A poll needs the batch's request_id.");
  }
  const answer = await callService(binding, model, { request_id: requestId }, undefined, bounded);
  if (!answer.ok) return { kind: "refused", refusal: classify(answer.error, "poll") };
  return readPoll(answer.value, MAX_NESTING) ?? unreadable(answer.value);
}

/** `null` if nothing in this value is recognized. */
function readPoll(answer: unknown, nesting: number): PollOutcome | null {
  if (!isRecord(answer)) return null;
  const status = statusOf(answer);
  const failed = hasFailed(answer);
  if (!failed && (status === "queued" || status === "running")) return { kind: "pending", state: status };
  const items = answer["responses"] ?? answer["results"];
  // The answers of a failed batch are paid for and count all the same.
  if (Array.isArray(items) && (!failed || items.length > 0)) {
    return { kind: "answered", items: items.filter(isRecord), tokens: tokensOf(answer["usage"]) };
  }
  const inner = nesting > 0 ? readPoll(answer["result"], nesting - 1) : null;
  if (!failed || inner?.kind === "answered") return inner;
  const refusal = classify(signsOf(answer), "poll");
  // `success: false` alone may refer to this poll only; a status, or a nested value, refers to the batch.
  const innerIsOver = inner?.kind === "refused" && !inner.refusal.mayBeRunning;
  if (status !== "failed" && status !== "gone") return innerIsOver ? inner : { kind: "refused", refusal };
  const isGone = status === "gone" && refusal.class === "retry";
  return { kind: "refused", refusal: { ...refusal, class: isGone ? "forgotten" : refusal.class, mayBeRunning: false } };
}

function unreadable(answer: unknown): PollOutcome {
  const signs = signsOf(answer);
  const isExplained = signs.code !== null || signs.message !== "";
  const message = isExplained
    ? signs.message
    : "Workers AI's answer has an unknown form: neither a status nor results.";
  return { kind: "refused", refusal: classify({ ...signs, message }, "poll") };
}

function tokensOf(usage: unknown): number | null {
  if (!isRecord(usage)) return null;
  const total = usage["total_tokens"];
  return typeof total === "number" && Number.isSafeInteger(total) && total >= 0 ? total : null;
}
