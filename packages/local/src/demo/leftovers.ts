import { hasEnded, type Sluice, type Submission } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import { count, duration, plural, PUSH_LOST_AGAIN } from "@sluice/client/terminal";
import type { LostWithQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import type { UnfinishedSubmission } from "@sluice/pipeline/submission/sql/read-unfinished.ts";
import { stage, sum } from "./figures.ts";
import { follow } from "./follow.ts";
import { notSucceeded } from "./report.ts";

/** The documents of earlier runs in a state, as this run finds them at its start. */
export interface Leftovers {
  readonly unfinished: readonly UnfinishedSubmission[];
  /** Documents that were in the local Queue. They have failed now. */
  readonly lost: readonly LostWithQueue[];
}

export const NOTHING_LEFT: Leftovers = { unfinished: [], lost: [] };

/** A line for documents that this run finishes, and one for each kind that it cannot. */
export function describeLeftovers({ unfinished, lost }: Leftovers): string[] {
  const lines: string[] = [];
  const left = sum(unfinished, (one) => one.recorded + one.staged);
  const staged = sum(unfinished, (one) => one.staged);
  const big = staged === 0 ? "" : ` (${count(staged)} of them as staged parts)`;
  if (left > 0) {
    lines.push(stage("left over", `${plural(left, "document")} of an earlier run in D1${big}: this run finishes them`));
  }
  const again = lost.filter((one) => !one.canceled);
  if (again.length > 0) lines.push(stage("lost", `${listed(again)}: ${WHY_LOST}. ${PUSH_LOST_AGAIN}`));
  const canceled = lost.filter((one) => one.canceled);
  if (canceled.length > 0) lines.push(stage("lost", `${listed(canceled)}, already canceled: ${WHY_LOST}`));
  // At the start, all other submissions with documents in the Queue are closed.
  const resumable = unfinished.flatMap(({ submission, queued }) =>
    queued > 0 ? [{ submission, documentCount: queued }] : [],
  );
  if (resumable.length > 0)
    lines.push(stage("incomplete", `${listed(resumable)}: the push was interrupted. ${RESUME}`));
  return lines;
}

const WHY_LOST = "lost when a run ended, because the local Queue is in memory; they failed as message_lost";
const RESUME = "Push the same file with the same key within an hour to resume it";

const MAX_LISTED = 3;

/** Counts documents and names their submissions. */
export function listed(submissions: readonly Pick<LostWithQueue, "submission" | "documentCount">[]): string {
  const [first] = submissions;
  const documents = plural(
    sum(submissions, (one) => one.documentCount),
    "document",
  );
  if (first !== undefined && submissions.length === 1) return `${documents} of ${first.submission}`;
  const names = submissions.slice(0, MAX_LISTED).map((one) => `${count(one.documentCount)} of ${one.submission}`);
  const more = submissions.length - names.length;
  return `${documents} (${names.join(", ")}${more > 0 ? `, and of ${count(more)} more submissions` : ""})`;
}

/** Longest wait without progress. It exceeds any lease, and the wait of a staged part at the demo's tick. */
const MAX_STANDSTILL_MS = 180_000;

interface Around {
  readonly client: Pick<Sluice, "wait">;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Milliseconds. */
  readonly now: () => number;
}

/** Waits until all their documents in D1 have ended, while there is progress. Returns one line per shortcoming. */
export async function finishLeftovers(
  { unfinished }: Leftovers,
  { client, signal, progress, now }: Around,
): Promise<string[]> {
  const shortcomings: string[] = [];
  for (const { submission, recorded, staged, queued } of unfinished) {
    if (recorded + staged === 0) continue;
    // Documents that were never sent need their push, which may never be resumed, so they are not waited for.
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
        `${submission} has not ended: no progress for ${standstill}. The next dev or demo continues it.`,
      );
    } else {
      shortcomings.push(...notSucceeded(last));
    }
  }
  return shortcomings;
}
