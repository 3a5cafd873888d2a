import type { ModelName } from "@sluice/core";
import type { Pause } from "@sluice/db";

/** A pause of everything. */
export const EVERYTHING = "all";
export const modelScope = (model: ModelName): string => `model:${model}`;

/** The pause that keeps a job back, the one that ends last; `null` when it may be dispatched. */
export function pauseFor(pauses: readonly Pause[], job: { readonly model: ModelName }): Pause | null {
  const scopes = [EVERYTHING, modelScope(job.model)];
  const [last] = pauses
    .filter((pause) => scopes.includes(pause.scope))
    .toSorted((a, b) => (b.until ?? Infinity) - (a.until ?? Infinity));
  return last ?? null;
}

/** A pause without an end is looked at again this often, in milliseconds. */
const LOOK_AGAIN = 15 * 60_000;

/** When a job that a pause keeps back is due again. */
export function dueAfterPause(pause: Pause, now: number): number {
  return Math.min(pause.until ?? Infinity, now + LOOK_AGAIN);
}
