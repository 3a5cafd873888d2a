import type { RequestId } from "@sluice/core";
import { hasFailed } from "./batch-status.ts";
import type { BatchBinding } from "./binding.ts";
import type { Bounded } from "./bounded.ts";
import { callService } from "./call-service.ts";
import { classify, type Refusal } from "./failure-classes.ts";
import { signsOf } from "./failure-signs.ts";
import type { ScoreRequest } from "./request.ts";
import { MAX_NESTING, isRecord } from "./values.ts";

export type SubmitOutcome =
  | { readonly kind: "queued"; readonly requestId: RequestId }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Our own limit: D1 stores the id, and the service's ids are UUIDs. */
const MAX_REQUEST_ID_LENGTH = 512;

/**
 * Submits requests to Workers AI as one batch (under 10 MB in total). Submits are not idempotent: if the refusal says
 * `mayBeRunning`, another submit may pay twice. Every result is a value, including failures.
 */
export async function submitBatch(
  binding: BatchBinding,
  model: string,
  requests: readonly ScoreRequest[],
  bounded: Bounded,
): Promise<SubmitOutcome> {
  const answer = await callService(binding, model, { requests }, { queueRequest: true }, bounded);
  if (!answer.ok) return { kind: "refused", refusal: classify(answer.error, "submit") };
  const requestId = requestIdIn(answer.value, MAX_NESTING);
  if (requestId !== null) return { kind: "queued", requestId };
  const signs = signsOf(answer.value);
  const isExplained = signs.code !== null || signs.message !== "";
  const message = isExplained
    ? signs.message
    : "Workers AI's answer has no request_id: the batch may be running without one.";
  return { kind: "refused", refusal: classify({ ...signs, message }, "submit") };
}

function requestIdIn(answer: unknown, nesting: number): RequestId | null {
  if (!isRecord(answer) || hasFailed(answer)) return null;
  const id = answer["request_id"];
  if (typeof id === "string" && id.trim() !== "" && id.length <= MAX_REQUEST_ID_LENGTH) return id as RequestId;
  return nesting > 0 ? requestIdIn(answer["result"], nesting - 1) : null;
}
