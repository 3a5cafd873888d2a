import { SluiceError } from "./errors.ts";
import type { Io } from "./io.ts";
import type { Submission } from "./types.ts";

/** Milliseconds between two looks: the first, and the longest. The poller runs once a minute. */
const FIRST_LOOK = 500;
const LONGEST_LOOK = 5_000;

export interface WaitOptions {
  /** Milliseconds after which a `SluiceError` with the code `timeout` is thrown; none where not given. */
  readonly timeout?: number | undefined;
  /** Told at each look. */
  readonly onProgress?: ((submission: Submission) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whether every document of a submission ended, and no retry is going to queue any again. */
export function hasEnded(submission: Submission): boolean {
  return submission.retry === null && (submission.status === "completed" || submission.status === "canceled");
}

/** Looks at a submission, ever less often, until every document of it ended. */
export async function waitFor(
  read: (signal: AbortSignal | undefined) => Promise<Submission>,
  { sleep, now }: Pick<Io, "sleep" | "now">,
  { timeout, onProgress, signal }: WaitOptions,
): Promise<Submission> {
  const started = now();
  for (let look = FIRST_LOOK; ; look = Math.min(look * 1.5, LONGEST_LOOK)) {
    const submission = await read(signal);
    onProgress?.(submission);
    if (hasEnded(submission)) return submission;
    const left = timeout === undefined ? Infinity : started + timeout - now();
    if (left <= 0) throw stillOpen(submission, timeout ?? 0);
    await sleep(Math.min(look, left), signal);
  }
}

function stillOpen({ id, status, counts }: Submission, timeout: number): SluiceError {
  const open = counts.queued + counts.processing;
  const detail = `After ${timeout / 1_000} s ${id} is ${status}: ${open} of ${counts.total} documents have not ended.`;
  return new SluiceError({ status: null, code: "timeout", title: "Not ended in time", detail });
}
