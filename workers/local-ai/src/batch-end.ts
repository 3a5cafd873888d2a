import { lastingFault } from "./faults.ts";
import type { EventType } from "./plan.ts";
import { phaseEnd, phaseOf, scoresOf } from "./poll.ts";
import type { RunContext } from "./run-context.ts";

/** Milliseconds between polls of the model. */
const MODEL_INTERVAL_MS = 250;

export type BatchEnd =
  | { readonly kind: "ended"; readonly type: Extract<EventType, "succeeded" | "failed"> }
  /** Not yet: `lookAt` is when to check again, in milliseconds since the epoch. */
  | { readonly kind: "running"; readonly lookAt: number }
  /** It never ends, or it is unknown. */
  | { readonly kind: "never" };

/** Whether a batch has ended, by the state that polls report. */
export async function findEnd(requestId: string, context: RunContext): Promise<BatchEnd> {
  const batch = await context.store.batch(requestId);
  if (batch === null) return { kind: "never" };
  const plan = await context.ledger.plan(context.store);
  const fault = lastingFault(plan, batch.number);
  if (fault === "stuck") return { kind: "never" };
  const phase = phaseOf(batch, plan, context);
  if (phase !== "done") return { kind: "running", lookAt: phaseEnd(batch, plan, context) };
  if (fault === "failed") return { kind: "ended", type: "failed" };
  // A model that does not answer now is polled again: the batch has not ended.
  const scores = batch.scores ?? (await scoresOf(requestId, batch, context).catch(() => null));
  if (scores === null) return { kind: "running", lookAt: context.now() + MODEL_INTERVAL_MS };
  return { kind: "ended", type: scores === "failed" ? "failed" : "succeeded" };
}
