import type { SubmissionId } from "@sluice/core";
import { pause } from "../signals.ts";
import { readSubmission, type Api, type Submission } from "./api.ts";

const POLL_MS = 200;

export function isOver({ status }: Submission): boolean {
  return status === "completed" || status === "canceled";
}

export function ended({ counts }: Submission): number {
  return counts.succeeded + counts.failed + counts.canceled;
}

export function recorded({ counts }: Submission): number {
  return counts.total - counts.queued;
}

/** Reads a submission again and again until `done` says so of it, or the signal aborts. Gives the last it saw. */
export async function follow(
  api: () => Api,
  id: SubmissionId,
  signal: AbortSignal,
  done: (submission: Submission) => boolean | Promise<boolean>,
): Promise<Submission> {
  for (;;) {
    const submission = await readSubmission(api(), id);
    if ((await done(submission)) || signal.aborted) return submission;
    await pause(POLL_MS, signal);
  }
}
