import { SluiceError } from "./errors.ts";
import type { Io } from "./io.ts";
import type { Submission } from "./types.ts";

/** The first and the longest delay between two reads, in milliseconds. The poller runs once a minute. */
const FIRST_INTERVAL_MS = 500;
const MAX_INTERVAL_MS = 5_000;

export interface WaitOptions {
  /** Milliseconds after which a `SluiceError` with the code `timeout` is thrown; no limit by default. */
  readonly timeout?: number | undefined;
  /** Maximum milliseconds between two reads; 5,000 by default. The first interval is at most 500. */
  readonly interval?: number | undefined;
  /** Stops waiting as soon as it returns true for the submission just read. */
  readonly until?: ((submission: Submission) => boolean) | undefined;
  /** Called with the submission after each read. */
  readonly onProgress?: ((submission: Submission) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whether every document of a submission has ended, and no retry will queue any again. */
export function hasEnded(submission: Submission): boolean {
  return submission.retry === null && (submission.status === "completed" || submission.status === "canceled");
}

/** Reads a submission with growing delays until every document has ended, or `until` is true. */
export async function waitFor(
  read: (signal: AbortSignal | undefined) => Promise<Submission>,
  { sleep, now }: Pick<Io, "sleep" | "now">,
  { timeout, interval: maxInterval = MAX_INTERVAL_MS, until, onProgress, signal }: WaitOptions,
): Promise<Submission> {
  const started = now();
  for (let interval = Math.min(FIRST_INTERVAL_MS, maxInterval); ; interval = Math.min(interval * 1.5, maxInterval)) {
    const submission = await read(signal);
    onProgress?.(submission);
    if (hasEnded(submission) || until?.(submission) === true) return submission;
    const left = timeout === undefined ? Infinity : started + timeout - now();
    if (left <= 0) throw stillOpen(submission, timeout ?? 0);
    await sleep(Math.min(interval, left), signal);
  }
}

function stillOpen({ id, status, counts }: Submission, timeout: number): SluiceError {
  const open = counts.queued + counts.processing;
  const detail = `After ${timeout / 1_000} s ${id} is ${status}: ${open} of ${counts.total} documents have not ended.`;
  return new SluiceError({ status: null, code: "timeout", title: "Not completed in time", detail });
}
