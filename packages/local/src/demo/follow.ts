import type { SubmissionId } from "@sluice/core";
import { isAborted, pause } from "../signals.ts";
import { readSubmission, type Api, type Submission } from "./api.ts";

const POLL_MS = 200;

export function isOver({ status }: Submission): boolean {
  return status === "completed" || status === "canceled";
}

/** Documents that the Queue lost: they failed without having been recorded. */
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

/**
 * Reads a submission again and again until `done` says so of it, and gives it then; `null` where the
 * signal aborts first. A stack that is being stopped does not answer: that is no error.
 */
export async function follow(
  api: () => Api,
  id: SubmissionId,
  signal: AbortSignal,
  done: (submission: Submission) => boolean | Promise<boolean>,
): Promise<Submission | null> {
  while (!isAborted(signal)) {
    try {
      const submission = await readSubmission(api(), id);
      if (await done(submission)) return submission;
    } catch (error) {
      if (!isAborted(signal)) throw error;
    }
    await pause(POLL_MS, signal);
  }
  return null;
}
