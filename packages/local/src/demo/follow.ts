import { hasEnded, type Sluice, type Submission } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import { holdWords, waitingBrief } from "@sluice/client/terminal";

const INTERVAL_MS = 200;
/** Shorter waits are not reported. */
const MIN_SHOWN_WAIT_MS = 2_000;

/** Documents that the Queue lost: they failed without being recorded. */
export function lost({ failures }: Submission): number {
  return failures["message_lost"] ?? 0;
}

/** Recorded documents that have ended. */
export function ended(submission: Submission): number {
  const { succeeded, failed, canceled } = submission.counts;
  return succeeded + failed + canceled - lost(submission);
}

export function recorded(submission: Submission): number {
  return submission.counts.total - submission.counts.queued - lost(submission);
}

interface Following {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  /** Stops following before the submission has ended. */
  readonly until?: (submission: Submission) => boolean;
}

/** Shows a submission's progress to its end, or until `until` is true. Returns the last state read. */
export function follow(
  client: Pick<Sluice, "wait">,
  id: string,
  { progress, signal, until }: Following,
): Promise<Submission> {
  return client.wait(id, {
    signal,
    interval: INTERVAL_MS,
    onProgress: (submission) => {
      if (!hasEnded(submission))
        progress.scoring(submission.counts, holdWords(submission), describeWait(submission, Date.now()));
    },
    ...(until && { until }),
  });
}

/** Describes briefly what a submission waits for, if the wait is long; else `""`. `now` is in milliseconds. */
export function describeWait({ waiting }: Pick<Submission, "waiting">, now: number): string {
  if (waiting === null || waiting.until === null) return "";
  return Date.parse(waiting.until) - now > MIN_SHOWN_WAIT_MS ? `waits for ${waitingBrief(waiting, now)}` : "";
}
