import type { JobStatus, PauseReason } from "@sluice/core";
import { pausedThing } from "./pause-scopes.ts";
import { NEVER_DUE } from "./schedule.ts";

/**
 * What an unfinished document, job or submission waits for. The list is closed: clients may switch on it.
 *
 * - `push`: the rest of its push, which is running or was interrupted. At `until` it is closed with the documents sent.
 * - `queue`: its message is in the Queue or about to be sent.
 * - `dispatch`: it is recorded and waits to be dispatched.
 * - `answer`: Workers AI is processing it.
 * - `retry`: Workers AI refused it temporarily, and it is sent again.
 * - `paused`, `paused_model`, `paused_submission`: a person paused dispatching of everything, its model, or its
 *   submission.
 * - `daily_limit`: the account's daily limit is used up until the next 00:00 UTC.
 * - `configuration`: the account or the model is misconfigured, and a person has to fix it.
 */
export const waitingReasons = [
  "push",
  "queue",
  "dispatch",
  "answer",
  "retry",
  "paused",
  "paused_model",
  "paused_submission",
  "daily_limit",
  "configuration",
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

export interface WaitingFor {
  readonly reason: WaitingReason;
  /** When it is due next, in milliseconds; `null` if unknown. */
  readonly until: number | null;
}

interface OpenJob {
  readonly status: JobStatus;
  /** Consecutive refusals. */
  readonly refusals: number;
  /** `null` if it has ended. */
  readonly dueAt: number | null;
}

interface HoldingPause {
  readonly scope: string;
  readonly reason: PauseReason;
  readonly until: number | null;
}

/** What a paused document, job or submission waits for: the end of the pause, and the scope that it covers. */
export function waitingOfPause(pause: HoldingPause): WaitingFor {
  if (pause.reason !== "requested") return { reason: pause.reason, until: pause.until };
  const reasons = { everything: "paused", model: "paused_model", submission: "paused_submission" } as const;
  return { reason: reasons[pausedThing(pause)], until: pause.until };
}

/** What a job waits for; `null` if it has ended. `pause` is the pause that holds it, if any. */
export function waitingOfJob(job: OpenJob, pause: HoldingPause | null, now: number): WaitingFor | null {
  if (job.dueAt === null) return null;
  const until = job.dueAt > now && job.dueAt < NEVER_DUE ? job.dueAt : null;
  if (job.status === "dispatched") return { reason: "answer", until };
  if (pause !== null) return waitingOfPause(pause);
  const turnedAway = job.status === "pending" && job.refusals > 0 && until !== null;
  return { reason: turnedAway ? "retry" : "dispatch", until };
}
