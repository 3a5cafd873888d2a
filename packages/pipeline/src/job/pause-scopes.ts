import type { SubmissionId } from "@sluice/core";

/** What may be paused: everything, a model, or a submission. */
export const EVERYTHING = "all";
const MODEL = "model:";
export const modelScope = (model: string): string => `${MODEL}${model}`;
export const SUBMISSION_SCOPE = "submission:";
export const submissionScope = (submission: SubmissionId): string => `${SUBMISSION_SCOPE}${submission}`;

interface ScopedPause {
  readonly scope: string;
  /** `null`: until it is resumed. */
  readonly until: number | null;
}

/**
 * Of the pauses of any of these scopes the one that ends last, of several that of the first scope; `null`: none is in
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

/** As a number that may be subtracted from another, as infinity may not. */
function later({ until }: ScopedPause): number {
  return until ?? Number.MAX_SAFE_INTEGER;
}

/** What a pause is about. */
export function pausedThing({ scope }: Pick<ScopedPause, "scope">): "everything" | "model" | "submission" {
  if (scope.startsWith(MODEL)) return "model";
  return scope.startsWith(SUBMISSION_SCOPE) ? "submission" : "everything";
}

/** The submissions that are paused by themselves. */
export function pausedSubmissions(pauses: readonly ScopedPause[]): SubmissionId[] {
  return pauses
    .filter((pause) => pause.scope.startsWith(SUBMISSION_SCOPE))
    .map((pause) => pause.scope.slice(SUBMISSION_SCOPE.length) as SubmissionId);
}
