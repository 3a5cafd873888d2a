import { backoffUntil, CONFIGURATION_PAUSE, nextMidnight, type FailureCode, type PauseReason } from "@sluice/core";
import type { Refusal } from "@sluice/inference";

/** What becomes of a job whose attempt ended in a refusal. */
export type RefusalDecision =
  | { readonly kind: "again"; readonly dueAt: number }
  /** The whole model stands still until `dueAt`, this job with it. */
  | { readonly kind: "pause"; readonly reason: PauseReason; readonly dueAt: number }
  | { readonly kind: "split" }
  | { readonly kind: "fail"; readonly code: FailureCode };

/** A job that is refused this often in a row is given up: at the longest backoff, about a day. */
const MAX_REFUSALS = 100;

interface RefusedJob {
  readonly documents: number;
  /** Refusals in a row before this one. */
  readonly refusals: number;
}

/** Decides by the class of a refusal. Splitting and waiting use up no attempt of a document. */
export function afterRefusal(
  job: RefusedJob,
  refusal: Refusal,
  time: { readonly now: number; readonly runInterval: number; readonly random: number },
): RefusalDecision {
  const { now, runInterval, random } = time;
  switch (refusal.class) {
    case "retry": {
      if (job.refusals + 1 >= MAX_REFUSALS) return { kind: "fail", code: "no_answer" };
      const backoff = backoffUntil(now, job.refusals + 1, runInterval, random);
      return { kind: "again", dueAt: Math.max(backoff, now + (refusal.retryAfterSeconds ?? 0) * 1_000) };
    }
    case "pause":
      return { kind: "pause", reason: "daily_limit", dueAt: nextMidnight(now) };
    case "configuration":
      return { kind: "pause", reason: "configuration", dueAt: now + CONFIGURATION_PAUSE };
    case "forgotten":
      return { kind: "again", dueAt: now };
    case "shrink":
      return job.documents > 1 ? { kind: "split" } : { kind: "fail", code: "too_large" };
    case "invalid":
      return job.documents > 1 ? { kind: "split" } : { kind: "fail", code: "invalid_input" };
    case "permanent":
      return { kind: "fail", code: "refused" };
  }
}
