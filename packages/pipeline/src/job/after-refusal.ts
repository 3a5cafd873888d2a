import { backoffUntil, CONFIGURATION_PAUSE_MS, nextBatchAt, nextMidnight } from "./schedule.ts";
import { MAX_BATCHES, type FailureCode, type PauseReason } from "@sluice/core";
import type { Refusal } from "@sluice/inference";

/** What to do with a job whose dispatch was refused. */
export type RefusalDecision =
  | { readonly kind: "again"; readonly dueAt: number }
  /** Pause the whole model, and this job with it, until `dueAt`. */
  | { readonly kind: "pause"; readonly reason: PauseReason; readonly dueAt: number }
  /** Split the job. Its pieces may be in `batchesLeft` more batches, at least 1. */
  | { readonly kind: "split"; readonly batchesLeft: number }
  /** Halve the job: its submits keep timing out while others succeed, so it may be too large for the service. */
  | { readonly kind: "halve" }
  | { readonly kind: "fail"; readonly code: FailureCode };

/**
 * Consecutive refusals after which a job fails: at the maximum backoff, after about a day. Refusals that pause a whole
 * model (daily limit, configuration) are not counted, because they are not about the job.
 */
export const MAX_REFUSALS = 100;

/** Maximum times that a job is halved because its submits time out: it never shrinks below an eighth. */
export const MAX_HALVINGS = 3;

interface RefusedJob {
  readonly documentCount: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
  /** Whether its submits keep timing out while those of other jobs of its model succeed. */
  readonly timesOutAlone: boolean;
  /** Consecutive refusals before this one. */
  readonly refusals: number;
  /** Whether Workers AI may have accepted the batch that this refusal ends. */
  readonly accepted: boolean;
  /** The maximum, over its documents, of batches that may have been accepted, including this one if so. */
  readonly batches: number;
}

/** Decides what to do with a refused job by the class of the refusal. Splitting and waiting do not use up a round. */
export function afterRefusal(
  job: RefusedJob,
  refusal: Refusal,
  time: { readonly now: number; readonly runInterval: number; readonly random: number },
): RefusalDecision {
  const { now, runInterval, random } = time;
  const isUsedUp = job.batches >= MAX_BATCHES;
  const givenUp = job.refusals + 1 >= MAX_REFUSALS || isUsedUp;
  const split = (alone: FailureCode): RefusalDecision => {
    if (job.documentCount === 1) return { kind: "fail", code: alone };
    return isUsedUp ? { kind: "fail", code: "no_answer" } : { kind: "split", batchesLeft: MAX_BATCHES - job.batches };
  };
  switch (refusal.class) {
    case "retry": {
      if (givenUp) return { kind: "fail", code: "no_answer" };
      if (job.timesOutAlone && mayBeHalved(job)) return { kind: "halve" };
      const backoff = job.accepted
        ? nextBatchAt(now, job.batches, runInterval, random)
        : backoffUntil(now, job.refusals + 1, runInterval, random);
      return { kind: "again", dueAt: Math.max(backoff, now + (refusal.retryAfterSeconds ?? 0) * 1_000) };
    }
    case "pause":
      return { kind: "pause", reason: "daily_limit", dueAt: nextMidnight(now) };
    case "configuration":
      return { kind: "pause", reason: "configuration", dueAt: now + CONFIGURATION_PAUSE_MS };
    case "forgotten":
      return givenUp ? { kind: "fail", code: "no_answer" } : { kind: "again", dueAt: now };
    case "shrink":
      return split("too_large");
    case "invalid":
      return split("invalid_input");
    case "permanent":
      return { kind: "fail", code: "refused" };
  }
}

/** Whether a job may be halved if its submits keep timing out. */
export function mayBeHalved({ documentCount, halvings }: Pick<RefusedJob, "documentCount" | "halvings">): boolean {
  return documentCount > 1 && halvings < MAX_HALVINGS;
}
