import { RUN_INTERVAL } from "../run-interval.ts";
import type { Invocation } from "../world/invocation.ts";
import type { JobRow } from "./changes.ts";
import type { Attempt } from "./state.ts";

type AttemptHead = Pick<Attempt, "job" | "number" | "list" | "references" | "startedAt" | "by">;

export function newAttempt(head: AttemptHead): Attempt {
  return {
    ...head,
    submitted: false,
    requestId: null,
    isConfirmed: false,
    takenAt: Infinity,
    tokens: null,
    unusable: new Set(),
    told: new Set(),
  };
}

/**
 * What is wrong with the time that D1 has as the start of an attempt, or `null`: the Worker that started it ran
 * then, by its own clock or by that of D1, which shows `now`.
 */
export function startTimeFlaw({ id, attempt, dispatched_at: at }: JobRow, by: Invocation, now: number): string | null {
  const isAt = (skew: number) => at !== null && at - skew >= by.startedAt && at - skew <= now;
  if (isAt(by.now() - now) || isAt(0)) return null;
  return `attempt ${attempt} of ${id} has ${at} as its start, but ${by.name} ran from ${by.startedAt} to ${now}`;
}

/** Time that two clocks and a slow D1 may add to the age that a poll is planned by. */
const AGE_TOLERANCE_MS = 5 * 60_000;

/** What is wrong with the time of a dispatched job's next poll, or `null`: it follows within a run, or an eighth of the age. */
export function pollFlaw(row: JobRow, attempt: Attempt | undefined, by: Invocation, now: number): string | null {
  if (row.status !== "dispatched" || attempt === undefined) return null;
  const age = now - attempt.takenAt + AGE_TOLERANCE_MS;
  const wait = Math.min((row.due_at ?? 0) - by.now(), (row.due_at ?? 0) - now);
  if (wait <= Math.max(RUN_INTERVAL, age / 8)) return null;
  return `${row.id} is polled in ${wait} ms, though its batch was taken only ${now - attempt.takenAt} ms ago`;
}
