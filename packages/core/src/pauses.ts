import type { SubmissionId } from "./ids.ts";

/** What may be paused: everything, a model, or a submission. */
export const EVERYTHING = "all";
export const modelScope = (model: string): string => `model:${model}`;
const SUBMISSION = "submission:";
export const submissionScope = (submission: SubmissionId): string => `${SUBMISSION}${submission}`;

interface ScopedPause {
  readonly scope: string;
  /** `null`: until it is resumed. */
  readonly until: number | null;
}

/** Of the pauses of any of these scopes the one that ends last; `null`: none is in force. */
export function lastPause<Pause extends ScopedPause>(
  pauses: readonly Pause[],
  scopes: readonly string[],
): Pause | null {
  const [last] = pauses
    .filter((pause) => scopes.includes(pause.scope))
    .toSorted((a, b) => (b.until ?? Infinity) - (a.until ?? Infinity));
  return last ?? null;
}

/** The submissions that are paused by themselves. */
export function pausedSubmissions(pauses: readonly ScopedPause[]): SubmissionId[] {
  return pauses
    .filter((pause) => pause.scope.startsWith(SUBMISSION))
    .map((pause) => pause.scope.slice(SUBMISSION.length) as SubmissionId);
}
