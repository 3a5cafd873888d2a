import { EVERYTHING, lastPause, modelScope } from "./pause-scopes.ts";
import type { ModelName } from "@sluice/core";
import type { Pause } from "./sql/pause-dispatching.ts";

/** The pause that keeps a job back, the one that ends last; `null` when it may be dispatched. */
export function pauseFor(pauses: readonly Pause[], job: { readonly model: ModelName }): Pause | null {
  return lastPause(pauses, [EVERYTHING, modelScope(job.model)]);
}
