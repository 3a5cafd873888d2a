import type { ModelName } from "@sluice/core";
import { byteStream } from "./answer.ts";
import type { Batch } from "./batches.ts";
import type { Deps } from "./deps.ts";
import { codelessError, serviceError, thrownFault, unsuccessful } from "./errors.ts";
import { decideItems, decideSubmit } from "./faults.ts";
import { checkRequests, fitsPayload, type ScoringRequest } from "./inputs.ts";
import type { SubmitRule } from "./plan.ts";
import { batchTokens, scoreAtOnce } from "./scoring.ts";

/** Accepts a batch. Throws, as the service does, if it is invalid or the plan says so. */
export async function submit(model: ModelName, input: unknown, deps: Deps): Promise<unknown> {
  const { calls } = deps.ledger;
  const plan = await deps.ledger.plan(deps.store);
  calls.submit.calls += 1;
  const call = calls.submit.calls;
  const checked = checkRequests(model, input);
  if (!checked.ok) throw serviceError("5006", checked.error);
  const requests = checked.value;
  if (!fitsPayload(requests)) throw serviceError("3006", "Request is too large: a batch must be under 10 MB");
  const rule = decideSubmit(plan, call, requests);
  if (rule !== null) await refuse(rule, deps);
  if (rule?.fault === "unsuccessful") return unsuccessful("3040");

  calls.submit.taken += 1;
  calls.submit.requests += requests.length;
  for (const request of requests) calls.submit.contexts += request.contexts.length;
  const requestId = deps.newRequestId();
  await takeIn(
    requestId,
    requests,
    {
      model,
      number: calls.submit.taken,
      submittedAt: deps.now(),
      references: requests.map((request) => request.external_reference ?? null),
      scores: scoreAtOnce(deps.mode, requests),
      tokens: batchTokens(model, requests),
      struck: plan.items.length === 0 ? [] : decideItems(plan, calls.submit.taken, requests, deps.ledger.strikes),
    },
    deps,
  );
  await deps.watch(requestId);

  if (rule?.fault === "answer_lost") throw codelessError("network");
  const answer =
    rule?.fault === "no_request_id" ? { status: "queued", model } : { status: "queued", model, request_id: requestId };
  return rule?.fault === "stream" ? byteStream(answer) : answer;
}

/** Throws if the rule's fault refuses the batch with an error. */
async function refuse(rule: SubmitRule, deps: Deps): Promise<void> {
  const error = thrownFault(rule.fault);
  if (error !== null) throw error;
  if (rule.fault === "hang") {
    await deps.wait(rule.hang_ms);
    throw serviceError("3007");
  }
}

async function takeIn(requestId: string, requests: readonly ScoringRequest[], batch: Batch, deps: Deps): Promise<void> {
  if (batch.scores !== null) {
    await deps.store.putBatch(requestId, batch);
    return;
  }
  // The payload first: a known batch can then always be scored, even after a crash here.
  const payload = JSON.stringify({ requests });
  await deps.store.putPayload(requestId, payload);
  await deps.store.putBatch(requestId, batch);
  // If the process does not answer now, the first poll that needs it sends the batch again.
  await deps.model.begin(requestId, payload).catch(() => undefined);
}
