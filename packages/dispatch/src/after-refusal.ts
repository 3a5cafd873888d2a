import { backoffUntil, CONFIGURATION_PAUSE, nextMidnight, type FailureCode, type PauseReason } from "@sluice/core";
import type { Refusal } from "@sluice/inference";

/** What becomes of a job whose attempt ended in a refusal. */
export type RefusalDecision =
  | { readonly kind: "again"; readonly dueAt: number }
  /** The whole model stands still until `dueAt`, this job with it. */
  | { readonly kind: "pause"; readonly reason: PauseReason; readonly dueAt: number }
  | { readonly kind: "split" }
  | { readonly kind: "fail"; readonly code: FailureCode };

/**
 * A job that is turned away this often in a row is given up: at the longest backoff, about a day. What
 * stops a whole model, the daily limit or the configuration, is not counted: it says nothing about the job.
 */
export const MAX_REFUSALS = 100;

/**
 * A job whose batches were taken in and brought no answer this often, forgotten or stuck or failed, is
 * given up: each of them may have been paid.
 */
export const MAX_REPEATS = 10;

interface RefusedJob {
  readonly documents: number;
  /** Refusals in a row before this one. */
  readonly refusals: number;
  /** Whether Workers AI had taken the batch in, and gave it up with this. */
  readonly taken: boolean;
  /** Batches of the job that were taken in and given up before. */
  readonly repeats: number;
}

/** Decides by the class of a refusal. Splitting and waiting use up no attempt of a document. */
export function afterRefusal(
  job: RefusedJob,
  refusal: Refusal,
  time: { readonly now: number; readonly runInterval: number; readonly random: number },
): RefusalDecision {
  const { now, runInterval, random } = time;
  const givenUp = job.refusals + 1 >= MAX_REFUSALS || (job.taken && job.repeats + 1 >= MAX_REPEATS);
  switch (refusal.class) {
    case "retry": {
      if (givenUp) return { kind: "fail", code: "no_answer" };
      const backoff = backoffUntil(now, job.refusals + 1, runInterval, random);
      return { kind: "again", dueAt: Math.max(backoff, now + (refusal.retryAfterSeconds ?? 0) * 1_000) };
    }
    case "pause":
      return { kind: "pause", reason: "daily_limit", dueAt: nextMidnight(now) };
    case "configuration":
      return { kind: "pause", reason: "configuration", dueAt: now + CONFIGURATION_PAUSE };
    case "forgotten":
      return givenUp ? { kind: "fail", code: "no_answer" } : { kind: "again", dueAt: now };
    case "shrink":
      return job.documents > 1 ? { kind: "split" } : { kind: "fail", code: "too_large" };
    case "invalid":
      return job.documents > 1 ? { kind: "split" } : { kind: "fail", code: "invalid_input" };
    case "permanent":
      return { kind: "fail", code: "refused" };
  }
}
