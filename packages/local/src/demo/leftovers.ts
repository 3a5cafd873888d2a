import { hasEnded, type Sluice, type Submission } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import { count, duration, plural, PUSH_LOST_AGAIN } from "@sluice/client/terminal";
import type { LostWithQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import type { UnfinishedSubmission } from "@sluice/pipeline/submission/sql/read-unfinished.ts";
import { stage, sum } from "./figures.ts";
import { follow } from "./follow.ts";
import { notSucceeded } from "./tell.ts";

/** What earlier runs left in a state, as this run finds it at its start. */
export interface Leftovers {
  readonly unfinished: readonly UnfinishedSubmission[];
  /** Documents that were in the local Queue: they have ended now. */
  readonly lost: readonly LostWithQueue[];
}

export const NOTHING_LEFT: Leftovers = { unfinished: [], lost: [] };

/** A line for what this run finishes by itself, and one for each kind of what it cannot. */
export function describeLeftovers({ unfinished, lost }: Leftovers): string[] {
  const lines: string[] = [];
  const left = sum(unfinished, (one) => one.recorded + one.staged);
  const staged = sum(unfinished, (one) => one.staged);
  const big = staged === 0 ? "" : ` (${count(staged)} of them as staged parts)`;
  if (left > 0) {
    lines.push(
      stage("left over", `${plural(left, "document")} of an earlier run, in D1${big}: this run finishes them`),
    );
  }
  const again = lost.filter((one) => !one.canceled);
  if (again.length > 0) lines.push(stage("lost", `${listed(again)}: ${WHY_LOST}. ${PUSH_LOST_AGAIN}`));
  const canceled = lost.filter((one) => one.canceled);
  if (canceled.length > 0) lines.push(stage("lost", `${listed(canceled)}, canceled before: ${WHY_LOST}`));
  // The start has ended all others that were in the Queue.
  const resumable = unfinished.flatMap(({ submission, queued }) =>
    queued > 0 ? [{ submission, documents: queued }] : [],
  );
  if (resumable.length > 0)
    lines.push(stage("incomplete", `${listed(resumable)}: the push was interrupted. ${RESUME}`));
  return lines;
}

const WHY_LOST = "in the local Queue, which is in memory, when a run ended; they failed as message_lost";
const RESUME = "The same push under the same key resumes it, within an hour";

const MAX_LISTED = 3;

/** How many documents, and of which submissions. */
export function listed(submissions: readonly Pick<LostWithQueue, "submission" | "documents">[]): string {
  const [first] = submissions;
  const documents = plural(
    sum(submissions, (one) => one.documents),
    "document",
  );
  if (first !== undefined && submissions.length === 1) return `${documents} of ${first.submission}`;
  const names = submissions.slice(0, MAX_LISTED).map((one) => `${count(one.documents)} of ${one.submission}`);
  const more = submissions.length - names.length;
  return `${documents} (${names.join(", ")}${more > 0 ? `, and of ${count(more)} more submissions` : ""})`;
}

/** Longer than any lease, and than a staged part waits at the demo's tick. */
const MAX_STANDSTILL_MS = 180_000;

interface Around {
  readonly client: Pick<Sluice, "wait">;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Milliseconds. */
  readonly now: () => number;
}

/**
 * Waits until all documents that D1 has of them have ended, for as long as something moves. Gives what did
 * not succeed, a line each.
 */
export async function finishLeftovers(
  { unfinished }: Leftovers,
  { client, signal, progress, now }: Around,
): Promise<string[]> {
  const shortcomings: string[] = [];
  for (const { submission, recorded, staged, queued } of unfinished) {
    if (recorded + staged === 0) continue;
    // What was never sent comes with its push only, which may never be resumed: it is not waited for.
    const isOpen = ({ counts }: Submission) => counts.processing > 0 || counts.queued > queued;
    let moved = { at: now(), counts: "" };
    const stands = (counts: string): boolean => {
      if (counts !== moved.counts) moved = { at: now(), counts };
      return now() - moved.at >= MAX_STANDSTILL_MS;
    };
    const last = await follow(client, submission, {
      progress,
      signal,
      until: (one) => !isOpen(one) || stands(JSON.stringify(one.counts)),
    });
    const { succeeded, failed, canceled } = last.counts;
    progress.print(stage("left over", `${submission}: ${succeeded} succeeded, ${failed} failed, ${canceled} canceled`));
    if (!hasEnded(last) && isOpen(last)) {
      const standstill = duration(MAX_STANDSTILL_MS);
      shortcomings.push(
        `${submission} has not ended: none of its documents moved for ${standstill}. The next dev or demo continues it.`,
      );
    } else {
      shortcomings.push(...notSucceeded(last));
    }
  }
  return shortcomings;
}
