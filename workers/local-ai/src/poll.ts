import type { ModelName } from "@sluice/core";
import { buildAnswer } from "./answer.ts";
import type { Batch, Scores } from "./batches.ts";
import { serviceError, thrownFault, unsuccessful } from "./errors.ts";
import { decidePoll } from "./faults.ts";
import type { ScoringRequest } from "./inputs.ts";
import type { Plan, PollRule } from "./plan.ts";
import type { RunContext } from "./run-context.ts";
import { scoreAtOnce } from "./scoring.ts";

/** Maximum length of a request id. A longer text cannot be a key of the store. */
const MAX_REQUEST_ID_CHARACTERS = 100;

/** Answers a poll: the state of the batch, or its results. A batch is known only to the model of its submit. */
export async function poll(model: ModelName, requestId: unknown, context: RunContext): Promise<unknown> {
  const { calls } = context.ledger;
  const plan = await context.ledger.plan(context.store);
  calls.poll.calls += 1;
  const call = calls.poll.calls;
  if (typeof requestId !== "string") throw serviceError("5006", "Error: /request_id: must be a string");
  const batch = requestId.length > MAX_REQUEST_ID_CHARACTERS ? null : await context.store.batch(requestId);
  if (batch === null || batch.model !== model) throw serviceError("3042", "Not found: no batch has this request_id");

  const pollOfBatch = context.ledger.countPoll(requestId);
  const faults = decidePoll(plan, { call, batch: batch.number, pollOfBatch });
  const pending = (status: "queued" | "running") => ({ status, request_id: requestId, model });
  const phase = phaseOf(batch, plan, context);
  if (faults.silent !== null) {
    return keepSilent(faults.silent, pending(phase === "queued" ? "queued" : "running"), context);
  }
  if (phase === "queued") return pending("queued");
  // Poll the model as soon as the batch leaves the queue, so that its scores are there when `running` ends.
  const scores = batch.scores ?? (await scoresOf(requestId, batch, context));
  if (scores === "failed") return failed(requestId, model);
  if (phase === "running" || scores === null) return pending("running");
  calls.poll.answered += 1;
  return buildAnswer(requestId, batch, scores, faults.answer);
}

/** The phase of the batch by the clock. Scores of a model may take longer. */
export function phaseOf(batch: Batch, plan: Plan, context: RunContext): "queued" | "running" | "done" {
  const age = context.now() - batch.submittedAt;
  const { queuedMs, runningMs } = waitsOf(plan, context);
  if (age < queuedMs) return "queued";
  return age < queuedMs + runningMs ? "running" : "done";
}

/** When its phase is `done`, in milliseconds since the epoch. */
export function phaseEnd(batch: Batch, plan: Plan, context: RunContext): number {
  const { queuedMs, runningMs } = waitsOf(plan, context);
  return batch.submittedAt + queuedMs + runningMs;
}

function waitsOf(plan: Plan, context: RunContext): { readonly queuedMs: number; readonly runningMs: number } {
  return {
    queuedMs: plan.queued_ms ?? (context.mode === "instant" ? 0 : context.queuedMs),
    runningMs: plan.running_ms ?? (context.mode === "instant" ? 0 : context.runningMs),
  };
}

function failed(requestId: string, model: string): unknown {
  return { status: "failed", request_id: requestId, model, error: "the batch failed" };
}

/** Applies the fault of the rule instead of answering. */
async function keepSilent(
  rule: PollRule,
  pending: { readonly request_id: string; readonly model: string },
  context: RunContext,
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
      await context.wait(rule.hang_ms);
      throw serviceError("3007");
    default:
      return pending;
  }
}

/**
 * The scores of a batch that has none yet: from the model, or from the current mode if the stand-in was restarted in
 * another one. `null` while the model is working.
 */
export async function scoresOf(
  requestId: string,
  batch: Batch,
  context: RunContext,
): Promise<Scores | "failed" | null> {
  if (context.mode === "minilm") return askModel(requestId, batch, context);
  const payload = await context.store.payload(requestId);
  if (payload === null) return readStoredScores(requestId, context);
  // Only `submit` writes payloads, with requests that it validated.
  const { requests } = JSON.parse(payload) as { readonly requests: readonly ScoringRequest[] };
  const scores = scoreAtOnce(context.mode, requests);
  return scores === null ? null : storeScores(requestId, batch, scores, context);
}

/** Stores the scores with the batch and deletes its texts. */
async function storeScores(requestId: string, batch: Batch, scores: Scores, context: RunContext): Promise<Scores> {
  await context.store.putBatch(requestId, { ...batch, scores });
  await context.store.deletePayload(requestId);
  return scores;
}

/** A payload is absent only if another poll has just stored the scores and deleted it. */
async function readStoredScores(requestId: string, context: RunContext): Promise<Scores | null> {
  return (await context.store.batch(requestId))?.scores ?? null;
}

/** The model's scores. Sends the batch again to a process that does not know it because it was restarted. */
async function askModel(requestId: string, batch: Batch, context: RunContext): Promise<Scores | "failed" | null> {
  try {
    const progress = await context.model.progress(requestId);
    switch (progress.state) {
      case "running":
        return null;
      case "failed":
        return "failed";
      case "done":
        return await storeScores(requestId, batch, progress.scores, context);
      case "unknown": {
        const payload = await context.store.payload(requestId);
        if (payload === null) return await readStoredScores(requestId, context);
        await context.model.begin(requestId, payload);
        return null;
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw serviceError("3040", `Capacity temporarily exceeded, please try again: ${reason}`);
  }
}
