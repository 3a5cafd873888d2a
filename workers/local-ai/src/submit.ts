import type { ModelName } from "@sluice/core";
import { byteStream } from "./answer.ts";
import type { Batch } from "./batches.ts";
import { codelessError, serviceError, thrownFault, unsuccessful } from "./errors.ts";
import { decideItems, decideSubmit } from "./faults.ts";
import { checkRequests, fitsPayload, type ScoringRequest } from "./inputs.ts";
import type { SubmitRule } from "./plan.ts";
import type { RunContext } from "./run-context.ts";
import { batchTokens, scoreAtOnce } from "./scoring.ts";

/** Accepts a batch. Throws, as the service does, if it is invalid or the plan says so. */
export async function submit(model: ModelName, input: unknown, context: RunContext): Promise<unknown> {
  const { calls } = context.ledger;
  const plan = await context.ledger.plan(context.store);
  calls.submit.calls += 1;
  const call = calls.submit.calls;
  const checked = checkRequests(model, input);
  if (!checked.ok) throw serviceError("5006", checked.error);
  const requests = checked.value;
  if (!fitsPayload(requests)) throw serviceError("3006", "Request is too large: a batch must be under 10 MB");
  const rule = decideSubmit(plan, call, requests);
  if (rule !== null) await refuse(rule, context);
  if (rule?.fault === "unsuccessful") return unsuccessful("3040");

  calls.submit.taken += 1;
  calls.submit.requests += requests.length;
  for (const request of requests) calls.submit.contexts += request.contexts.length;
  const requestId = context.newRequestId();
  await accept(
    requestId,
    requests,
    {
      model,
      number: calls.submit.taken,
      submittedAt: context.now(),
      references: requests.map((request) => request.external_reference ?? null),
      scores: scoreAtOnce(context.mode, requests),
      tokens: batchTokens(model, requests),
      struck: plan.items.length === 0 ? [] : decideItems(plan, calls.submit.taken, requests, context.ledger.strikes),
    },
    context,
  );
  await context.watch(requestId);

  if (rule?.fault === "answer_lost") throw codelessError("network");
  const answer =
    rule?.fault === "no_request_id" ? { status: "queued", model } : { status: "queued", model, request_id: requestId };
  return rule?.fault === "stream" ? byteStream(answer) : answer;
}

/** Throws if the rule's fault refuses the batch with an error. */
async function refuse(rule: SubmitRule, context: RunContext): Promise<void> {
  const error = thrownFault(rule.fault);
  if (error !== null) throw error;
  if (rule.fault === "hang") {
    await context.wait(rule.hang_ms);
    throw serviceError("3007");
  }
}

async function accept(
  requestId: string,
  requests: readonly ScoringRequest[],
  batch: Batch,
  context: RunContext,
): Promise<void> {
  if (batch.scores !== null) {
    await context.store.putBatch(requestId, batch);
    return;
  }
  // The payload first: a known batch can then always be scored, even after a crash here.
  const payload = JSON.stringify({ requests });
  await context.store.putPayload(requestId, payload);
  await context.store.putBatch(requestId, batch);
  // If the process does not answer now, the first poll that needs it sends the batch again.
  await context.model.begin(requestId, payload).catch(() => undefined);
}
