import { EVERYTHING, lastPause, modelScope } from "./pause-scopes.ts";
import type { ModelName } from "@sluice/core";
import type { Pause } from "./sql/pause-dispatching.ts";

/** The pause that holds a job, the last to end if there are several; `null` if it may be dispatched. */
export function pauseFor(pauses: readonly Pause[], job: { readonly model: ModelName }): Pause | null {
  return lastPause(pauses, [EVERYTHING, modelScope(job.model)]);
}
