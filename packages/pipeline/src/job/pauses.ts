import { EVERYTHING, lastPause, modelScope, submissionScope } from "./pause-scopes.ts";
import type { ModelName, SubmissionId } from "@sluice/core";
import type { Pause } from "./sql/pause-dispatching.ts";
export { EVERYTHING, modelScope } from "./pause-scopes.ts";

/** The pause that keeps a job back, the one that ends last; `null` when it may be dispatched. */
export function pauseFor(pauses: readonly Pause[], job: { readonly model: ModelName }): Pause | null {
  return lastPause(pauses, [EVERYTHING, modelScope(job.model)]);
}

/** The pause of one of these submissions; see `keepBackPaused`. */
export function pauseOfSubmissions(pauses: readonly Pause[], submissions: readonly SubmissionId[]): Pause | null {
  return lastPause(pauses, submissions.map(submissionScope));
}
