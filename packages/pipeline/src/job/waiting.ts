import type { JobStatus, PauseReason } from "@sluice/core";
import { pausedThing } from "./pause-scopes.ts";
import { NEVER_DUE } from "./schedule.ts";

/**
 * What a document, job or submission that has not ended waits for. The list is closed: clients may switch on it.
 *
 * - `push`: the rest of its push, which is running or was interrupted: at `until` it is closed with what it sent.
 * - `queue`: its message is in the Queue or about to be.
 * - `dispatch`: it is recorded and waits for its turn.
 * - `answer`: Workers AI has it.
 * - `retry`: Workers AI refused it for now, and it is tried again.
 * - `paused`, `paused_model`, `paused_submission`: someone paused dispatching; everything's, its model's, or
 *   its submission's.
 * - `daily_limit`: the account's daily limit is used up, until the next 00:00 UTC.
 * - `configuration`: the account or the model is misconfigured, and someone has to fix it.
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
  /** When it is due next, in milliseconds; `null` if that is unknown. */
  readonly until: number | null;
}

interface OpenJob {
  readonly status: JobStatus;
  /** Refusals in a row. */
  readonly refusals: number;
  /** `null`: ended. */
  readonly dueAt: number | null;
}

interface HoldingPause {
  readonly scope: string;
  readonly reason: PauseReason;
  readonly until: number | null;
}

/** What something waits for that a pause holds: the end of the pause, with what it covers. */
export function waitingOfPause(pause: HoldingPause): WaitingFor {
  if (pause.reason !== "requested") return { reason: pause.reason, until: pause.until };
  const reasons = { everything: "paused", model: "paused_model", submission: "paused_submission" } as const;
  return { reason: reasons[pausedThing(pause)], until: pause.until };
}

/** What a job waits for; `pause` is the one that holds it back, if any. `null`: it has ended. */
export function waitingOfJob(job: OpenJob, pause: HoldingPause | null, now: number): WaitingFor | null {
  if (job.dueAt === null) return null;
  const until = job.dueAt > now && job.dueAt < NEVER_DUE ? job.dueAt : null;
  if (job.status === "dispatched") return { reason: "answer", until };
  if (pause !== null) return waitingOfPause(pause);
  const turnedAway = job.status === "pending" && job.refusals > 0 && until !== null;
  return { reason: turnedAway ? "retry" : "dispatch", until };
}
