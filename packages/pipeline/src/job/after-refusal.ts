import { backoffUntil, CONFIGURATION_PAUSE_MS, nextBatchAt, nextMidnight } from "./schedule.ts";
import { MAX_BATCHES, type FailureCode, type PauseReason } from "@sluice/core";
import type { Refusal } from "@sluice/inference";

/** What becomes of a job whose dispatch ended in a refusal. */
export type RefusalDecision =
  | { readonly kind: "again"; readonly dueAt: number }
  /** The whole model stands still until `dueAt`, this job with it. */
  | { readonly kind: "pause"; readonly reason: PauseReason; readonly dueAt: number }
  /** Its pieces may be in `batchesLeft` more batches, at least 1. */
  | { readonly kind: "split"; readonly batchesLeft: number }
  /** Its submits keep timing out, and others do not: perhaps it is too much for the service. */
  | { readonly kind: "halve" }
  | { readonly kind: "fail"; readonly code: FailureCode };

/**
 * A job that is turned away this often in a row is given up: at the longest backoff, about a day. What
 * stops a whole model, the daily limit or the configuration, is not counted: it says nothing about the job.
 */
export const MAX_REFUSALS = 100;

/** A job is halved at most this often because its submits time out: never below an eighth of its size. */
export const MAX_HALVINGS = 3;

interface RefusedJob {
  readonly documents: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
  /** Whether its submits keep timing out while those of other jobs of its model do not. */
  readonly timesOutAlone: boolean;
  /** Refusals in a row before this one. */
  readonly refusals: number;
  /** Whether Workers AI may have accepted the batch that this refusal ends. */
  readonly accepted: boolean;
  /** Batches of one of its documents that may have been accepted, this one included if so. */
  readonly batches: number;
}

/** Decides by the class of a refusal. Splitting and waiting use up no dispatch of a document. */
export function afterRefusal(
  job: RefusedJob,
  refusal: Refusal,
  time: { readonly now: number; readonly runInterval: number; readonly random: number },
): RefusalDecision {
  const { now, runInterval, random } = time;
  const isUsedUp = job.batches >= MAX_BATCHES;
  const givenUp = job.refusals + 1 >= MAX_REFUSALS || isUsedUp;
  const split = (alone: FailureCode): RefusalDecision => {
    if (job.documents === 1) return { kind: "fail", code: alone };
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
export function mayBeHalved({ documents, halvings }: Pick<RefusedJob, "documents" | "halvings">): boolean {
  return documents > 1 && halvings < MAX_HALVINGS;
}
