import { print } from "@sluice/client/terminal";
import type { LostWithQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import type { UnfinishedSubmission } from "@sluice/pipeline/submission/sql/read-unfinished.ts";
import type { Api } from "./api.ts";
import { count, counted, seconds, stage, sum } from "./figures.ts";
import { follow, isOver } from "./follow.ts";
import type { Progress } from "./progress.ts";
import { stagedParts } from "./staged.ts";
import { notSucceeded } from "./tell.ts";
import { explainWait } from "./waits.ts";

/** What earlier runs left in a state, as the start of this one finds it. */
export interface Leftovers {
  readonly unfinished: readonly UnfinishedSubmission[];
  /** Documents that were in the local Queue: they have ended now. */
  readonly lost: readonly LostWithQueue[];
}

export const NOTHING_LEFT: Leftovers = { unfinished: [], lost: [] };

/** A line for what is finished without anyone's help, and one for each kind of what is not. */
export function describeLeftovers({ unfinished, lost }: Leftovers): string[] {
  const lines: string[] = [];
  const left = sum(unfinished, (one) => one.recorded + one.staged);
  const staged = sum(unfinished, (one) => one.staged);
  const big = staged === 0 ? "" : ` (${count(staged)} of them as staged parts)`;
  if (left > 0) {
    lines.push(stage("left over", `${counted(left, "document")} of an earlier run, in D1${big}: finished by this one`));
  }
  const again = lost.filter((one) => !one.canceled);
  if (again.length > 0) lines.push(stage("lost", `${listed(again)}: ${WHY_LOST}. ${PUSH_AGAIN}`));
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

const WHY_LOST = "the local Queue, which is memory, had them when a run ended, and they failed as message_lost";
const PUSH_AGAIN = "Push the same file again to score them";
const RESUME = "The same push under its key resumes it, for an hour";

const MAX_LISTED = 3;

/** How many documents, and of which submissions. */
export function listed(submissions: readonly Pick<LostWithQueue, "submission" | "documents">[]): string {
  const [first] = submissions;
  const documents = counted(
    sum(submissions, (one) => one.documents),
    "document",
  );
  if (first !== undefined && submissions.length === 1) return `${documents} of ${first.submission}`;
  const names = submissions.slice(0, MAX_LISTED).map((one) => `${count(one.documents)} of ${one.submission}`);
  const more = submissions.length - names.length;
  return `${documents} (${names.join(", ")}${more > 0 ? `, and of ${count(more)} more submissions` : ""})`;
}

/** Longer than any lease, and than a staged part waits at the demo's tick. */
const PATIENCE_MS = 180_000;

interface Around {
  readonly api: () => Api;
  readonly signal: AbortSignal;
  readonly startProgress: (total: number) => Progress;
  /** Milliseconds. */
  readonly now: () => number;
}

/**
 * Waits until everything that D1 has of them has its outcome, as long as something moves. Gives what
 * did not succeed, a line each.
 */
export async function finishLeftovers({ unfinished }: Leftovers, around: Around): Promise<string[]> {
  const shortcomings: string[] = [];
  for (const { submission: id, recorded, staged: stagedBefore } of unfinished) {
    const documents = recorded + stagedBefore;
    if (documents === 0) continue;
    using progress = around.startProgress(documents);
    let moved = { at: around.now(), figures: "" };
    const isLate = (figures: string): boolean => {
      if (figures !== moved.figures) moved = { at: around.now(), figures };
      return around.now() - moved.at >= PATIENCE_MS;
    };
    const last = await follow(around.api, id, around.signal, async (one) => {
      const { url } = around.api();
      const staged = await stagedParts(url, id);
      if (isOver(one) || (one.counts.processing === 0 && staged === 0)) return true;
      progress.show(one.counts, await explainWait(url, id, staged, Date.now()));
      return isLate(JSON.stringify([one.counts, staged]));
    });
    progress.clear();
    if (last === null) return shortcomings;
    const { processing, succeeded, failed, canceled } = last.counts;
    print(stage("left over", `${id}: ${succeeded} succeeded, ${failed} failed, ${canceled} canceled`));
    if (processing > 0 || (await stagedParts(around.api().url, id)) > 0) {
      const patience = seconds(PATIENCE_MS);
      shortcomings.push(`${id} is not finished: nothing of it moved for ${patience}. Any later dev or demo goes on.`);
    } else {
      shortcomings.push(...notSucceeded(last));
    }
  }
  return shortcomings;
}
