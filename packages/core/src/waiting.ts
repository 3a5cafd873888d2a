import { pauseReasons, type JobStatus, type PauseReason } from "./job.ts";

/**
 * What something that has not ended waits for. The list is closed: clients may switch on it.
 *
 * - `queue`: its message is in the Queue, or on the way there.
 * - `dispatch`: it is recorded, and its turn has not come.
 * - `answer`: Workers AI has it.
 * - `retry`: Workers AI turned it away for now, and it is tried again.
 * - `requested`, `daily_limit`, `configuration`: dispatching is paused, see `PauseReason`.
 */
export const waitingReasons = ["queue", "dispatch", "answer", "retry", ...pauseReasons] as const;
export type WaitingReason = (typeof waitingReasons)[number];

export interface WaitingFor {
  readonly reason: WaitingReason;
  /** When it is looked at next, in milliseconds; `null` where nobody knows. */
  readonly until: number | null;
}

interface WaitingJob {
  readonly status: JobStatus;
  /** Refusals in a row. */
  readonly refusals: number;
  /** `null`: ended. */
  readonly dueAt: number | null;
}

/** What a job waits for; `pause` is the one that holds it back, if any. `null`: it has ended. */
export function waitingOfJob(
  job: WaitingJob,
  pause: { readonly reason: PauseReason; readonly until: number | null } | null,
  now: number,
): WaitingFor | null {
  if (job.dueAt === null) return null;
  const until = job.dueAt > now ? job.dueAt : null;
  if (job.status === "dispatched") return { reason: "answer", until };
  if (pause !== null) return { reason: pause.reason, until: pause.until };
  const turnedAway = job.status === "pending" && job.refusals > 0 && until !== null;
  return { reason: turnedAway ? "retry" : "dispatch", until };
}
