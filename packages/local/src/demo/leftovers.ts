import { print } from "@sluice/client/terminal";
import type { SubmissionId } from "@sluice/core";
import { openSubmissions, type Api, type Submission } from "./api.ts";
import { count, counted, seconds, stage, sum } from "./figures.ts";
import { follow, isOver } from "./follow.ts";
import type { Progress } from "./progress.ts";
import { stagedDocuments, stagedParts } from "./staged.ts";
import { notSucceeded } from "./tell.ts";
import { explainWait } from "./waits.ts";

/** What an earlier run, that was killed, left open in this state. */
export interface Leftovers {
  readonly unfinished: readonly Unfinished[];
  /** Submissions of which the local Queue lost documents. */
  readonly lost: readonly Counted[];
}

interface Counted {
  readonly id: SubmissionId;
  readonly documents: number;
}

/** Documents that D1 has: recorded ones, and staged ones that are still to be recorded. */
interface Unfinished extends Counted {
  readonly staged: number;
}

/** Of a stack that has just started: its Queue has nothing of what was pushed before. */
export async function findLeftovers(api: Api): Promise<Leftovers> {
  // Staged parts first: one that is recorded in between is counted among the recorded.
  const staged = await stagedDocuments(api.url);
  return sortLeftovers(await openSubmissions(api), staged);
}

export function sortLeftovers(open: readonly Submission[], staged: ReadonlyMap<string, number>): Leftovers {
  const unfinished: Unfinished[] = [];
  const lost: Counted[] = [];
  for (const { id, counts } of open) {
    const waiting = Math.min(counts.queued, staged.get(id) ?? 0);
    const documents = counts.processing + waiting;
    if (documents > 0) unfinished.push({ id, documents, staged: waiting });
    if (counts.queued > waiting) lost.push({ id, documents: counts.queued - waiting });
  }
  return { unfinished, lost };
}

/** A line for what is finished by itself, and one for what is not. */
export function describeLeftovers({ unfinished, lost }: Leftovers): string[] {
  const lines: string[] = [];
  const left = sum(unfinished, (one) => one.documents);
  const staged = sum(unfinished, (one) => one.staged);
  const big = staged === 0 ? "" : ` (${count(staged)} of them as staged parts)`;
  if (left > 0) {
    lines.push(stage("left over", `${counted(left, "document")} of an earlier run, in D1${big}: finished by this one`));
  }
  if (lost.length > 0) {
    const names = lost.slice(0, 3).map(({ id }) => id);
    const stalled = `${names.join(", ")}${lost.length > 3 ? ", …" : ""}`;
    const figure = `${counted(
      sum(lost, (one) => one.documents),
      "document",
    )} lost`;
    const why = "they were in the local Queue, which is memory, when a run ended";
    lines.push(stage("stalled", `${figure}: ${why} (${stalled}): push them again`));
  }
  return lines;
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
  for (const { id, documents } of unfinished) {
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
