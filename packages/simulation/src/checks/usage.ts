import type { JobRow } from "./changes.ts";
import { isOpen, type Dispatch, type Job, type Submission, type Version, type VersionKey } from "./state.ts";

interface Ended {
  readonly before: JobRow;
  readonly row: JobRow;
  readonly list: readonly VersionKey[];
  readonly dispatch: Dispatch | undefined;
}

/** Whether a job ended and counts as used. A canceled or merged job does not. */
function isUsed({ before, row }: Pick<Ended, "before" | "row">): boolean {
  return isOpen(before.status) && ["succeeded", "failed", "split"].includes(row.status);
}

/**
 * Counts an ended job in each of its submissions, with a share of the tokens that Workers AI counted, by the size of
 * its remaining documents. Returns the flaw in the job's own count, or `null`.
 */
export function countUsage(
  ended: Ended,
  versions: ReadonlyMap<VersionKey, Version>,
  submissions: ReadonlyMap<string, Submission>,
): string | null {
  if (!isUsed(ended)) return null;
  const { row, list, dispatch } = ended;
  const tokens = row.status === "succeeded" ? (dispatch?.tokens ?? null) : null;
  if (row.tokens !== tokens) return `${row.id} counts ${row.tokens} tokens, but Workers AI counted ${tokens}`;
  const listed = list.map((key) => versions.get(key)).filter((version) => version !== undefined);
  const sum = (some: readonly Version[]) => some.reduce((bytes, version) => bytes + version.requestBytes, 0);
  const all = Math.max(1, sum(listed));
  for (const [id, own] of Map.groupBy(listed, ({ submission }) => submission)) {
    const submission = submissions.get(id);
    if (submission === undefined) continue;
    submission.jobs += 1;
    submission.tokens += ((tokens ?? 0) * sum(own.filter(({ deleted }) => !deleted))) / all;
  }
  return null;
}

/** Counts a batch that was given up without a report from the service. */
export function countSilence({ row, list, dispatches }: Job, versions: ReadonlyMap<VersionKey, Version>): void {
  if (dispatches.get(row.dispatch_number)?.reported.has("over") === true) return;
  for (const key of list) {
    const version = versions.get(key);
    if (version !== undefined) version.turnedAway += 1;
  }
}

/** Counts a batch that Workers AI definitely refused. */
export function countRefused({ list }: Job, versions: ReadonlyMap<VersionKey, Version>): void {
  for (const key of list) {
    const version = versions.get(key);
    if (version !== undefined) version.refused += 1;
  }
}

/** Counts a dispatch that may have run in every submission in its list. */
export function countUnconfirmed({ list }: Job, submissions: ReadonlyMap<string, Submission>): void {
  for (const id of new Set(list.map((key) => key.slice(0, key.indexOf("\n"))))) {
    const submission = submissions.get(id);
    if (submission !== undefined) submission.unconfirmed += 1;
  }
}
