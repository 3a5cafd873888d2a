import type { SubmissionId } from "@sluice/core";

/** What can be paused: everything, a model, or a submission. */
export const EVERYTHING = "all";
const MODEL = "model:";
export const modelScope = (model: string): string => `${MODEL}${model}`;
export const SUBMISSION_SCOPE = "submission:";
export const submissionScope = (submission: SubmissionId): string => `${SUBMISSION_SCOPE}${submission}`;

interface ScopedPause {
  readonly scope: string;
  /** `null` if it lasts until it is resumed. */
  readonly until: number | null;
}

/**
 * Returns the pause of these scopes that ends last, or the first of those that end together; `null` if none is in
 * force.
 */
export function lastPause<Pause extends ScopedPause>(
  pauses: readonly Pause[],
  scopes: readonly string[],
): Pause | null {
  const [last] = pauses
    .filter((pause) => scopes.includes(pause.scope))
    .toSorted((a, b) => later(b) - later(a) || scopes.indexOf(a.scope) - scopes.indexOf(b.scope));
  return last ?? null;
}

/** A finite number for comparisons: infinity cannot be subtracted from itself. */
function later({ until }: ScopedPause): number {
  return until ?? Number.MAX_SAFE_INTEGER;
}

/** The kind of scope that is paused. */
export function pausedThing({ scope }: Pick<ScopedPause, "scope">): "everything" | "model" | "submission" {
  if (scope.startsWith(MODEL)) return "model";
  return scope.startsWith(SUBMISSION_SCOPE) ? "submission" : "everything";
}

/** The submissions with a pause of their own. */
export function pausedSubmissions(pauses: readonly ScopedPause[]): SubmissionId[] {
  return pauses
    .filter((pause) => pause.scope.startsWith(SUBMISSION_SCOPE))
    .map((pause) => pause.scope.slice(SUBMISSION_SCOPE.length) as SubmissionId);
}
