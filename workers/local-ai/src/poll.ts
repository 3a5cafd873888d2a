import type { ModelName } from "@sluice/core";
import { buildAnswer } from "./answer.ts";
import type { Batch, Scores } from "./batches.ts";
import type { Deps } from "./deps.ts";
import { serviceError, thrownFault, unsuccessful } from "./errors.ts";
import { decidePoll } from "./faults.ts";
import type { ScoringRequest } from "./inputs.ts";
import type { Plan, PollRule } from "./plan.ts";
import { scoreAtOnce } from "./scoring.ts";

/** Maximum length of a request id. A longer text cannot be a key of the store. */
const MAX_REQUEST_ID = 100;

/** Answers a poll: the state of the batch, or its results. A batch is known only to the model of its submit. */
export async function poll(model: ModelName, requestId: unknown, deps: Deps): Promise<unknown> {
  const { calls } = deps.ledger;
  const plan = await deps.ledger.plan(deps.store);
  calls.poll.calls += 1;
  const call = calls.poll.calls;
  if (typeof requestId !== "string") throw serviceError("5006", "Error: /request_id: must be a string");
  const batch = requestId.length > MAX_REQUEST_ID ? null : await deps.store.batch(requestId);
  if (batch === null || batch.model !== model) throw serviceError("3042", "Not found: no batch has this request_id");

  const pollOfBatch = deps.ledger.countPoll(requestId);
  const faults = decidePoll(plan, { call, batch: batch.number, pollOfBatch });
  const pending = (status: "queued" | "running") => ({ status, request_id: requestId, model });
  const phase = phaseOf(batch, plan, deps);
  if (faults.silent !== null) {
    return keepSilent(faults.silent, pending(phase === "queued" ? "queued" : "running"), deps);
  }
  if (phase === "queued") return pending("queued");
  // Poll the model as soon as the batch leaves the queue, so that its scores are there when `running` ends.
  const scores = batch.scores ?? (await scoresOf(requestId, batch, deps));
  if (scores === "failed") return failed(requestId, model);
  if (phase === "running" || scores === null) return pending("running");
  calls.poll.answered += 1;
  return buildAnswer(requestId, batch, scores, faults.answer);
}

/** The phase of the batch by the clock. Scores of a model may take longer. */
export function phaseOf(batch: Batch, plan: Plan, deps: Deps): "queued" | "running" | "done" {
  const age = deps.now() - batch.submittedAt;
  const { queuedMs, runningMs } = waitsOf(plan, deps);
  if (age < queuedMs) return "queued";
  return age < queuedMs + runningMs ? "running" : "done";
}

/** When its phase is `done`, in milliseconds since the epoch. */
export function phaseEnd(batch: Batch, plan: Plan, deps: Deps): number {
  const { queuedMs, runningMs } = waitsOf(plan, deps);
  return batch.submittedAt + queuedMs + runningMs;
}

function waitsOf(plan: Plan, deps: Deps): { readonly queuedMs: number; readonly runningMs: number } {
  return {
    queuedMs: plan.queued_ms ?? (deps.mode === "instant" ? 0 : deps.queuedMs),
    runningMs: plan.running_ms ?? (deps.mode === "instant" ? 0 : deps.runningMs),
  };
}

function failed(requestId: string, model: string): unknown {
  return { status: "failed", request_id: requestId, model, error: "the batch failed" };
}

/** Applies the fault of the rule instead of answering. */
async function keepSilent(
  rule: PollRule,
  pending: { readonly request_id: string; readonly model: string },
  deps: Deps,
): Promise<unknown> {
  const error = thrownFault(rule.fault);
  if (error !== null) throw error;
  switch (rule.fault) {
    case "unsuccessful":
      return unsuccessful("3040");
    case "forgotten":
      throw serviceError("3042", "Not found: no batch has this request_id");
    case "failed":
      return failed(pending.request_id, pending.model);
    case "hang":
      await deps.wait(rule.hang_ms);
      throw serviceError("3007");
    default:
      return pending;
  }
}

/**
 * The scores of a batch that has none yet: from the model, or from the current mode if the stand-in was restarted in
 * another one. `null` while the model is working.
 */
export async function scoresOf(requestId: string, batch: Batch, deps: Deps): Promise<Scores | "failed" | null> {
  if (deps.mode === "minilm") return askModel(requestId, batch, deps);
  const payload = await deps.store.payload(requestId);
  if (payload === null) return keptMeanwhile(requestId, deps);
  // Only `submit` writes payloads, with requests that it validated.
  const { requests } = JSON.parse(payload) as { readonly requests: readonly ScoringRequest[] };
  const scores = scoreAtOnce(deps.mode, requests);
  return scores === null ? null : keep(requestId, batch, scores, deps);
}

/** Stores the scores with the batch and deletes its texts. */
async function keep(requestId: string, batch: Batch, scores: Scores, deps: Deps): Promise<Scores> {
  await deps.store.putBatch(requestId, { ...batch, scores });
  await deps.store.deletePayload(requestId);
  return scores;
}

/** A payload is absent only if another poll has just stored the scores and deleted it. */
async function keptMeanwhile(requestId: string, deps: Deps): Promise<Scores | null> {
  return (await deps.store.batch(requestId))?.scores ?? null;
}

/** The model's scores. Sends the batch again to a process that does not know it because it was restarted. */
async function askModel(requestId: string, batch: Batch, deps: Deps): Promise<Scores | "failed" | null> {
  try {
    const progress = await deps.model.progress(requestId);
    switch (progress.state) {
      case "running":
        return null;
      case "failed":
        return "failed";
      case "done":
        return await keep(requestId, batch, progress.scores, deps);
      case "unknown": {
        const payload = await deps.store.payload(requestId);
        if (payload === null) return await keptMeanwhile(requestId, deps);
        await deps.model.begin(requestId, payload);
        return null;
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw serviceError("3040", `Capacity temporarily exceeded, please try again: ${reason}`);
  }
}
