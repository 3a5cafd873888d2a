import type { Replacement } from "../run/patches.ts";

/** A deliberate bug in the product that the simulation must catch. */
export interface Mutation {
  readonly name: string;
  /** The resulting bug. */
  readonly breaks: string;
  readonly replacements: readonly Replacement[];
  /** The kind of seeds that it runs with, if at most two in a thousand ordinary seeds are affected. */
  readonly kind?: string;
}

/** The last migration that creates the views, and the one that creates `submissions_progress`. */
export const VIEWS = "migrations/0003_key-by-collection.sql";
export const PROGRESS_VIEW = "migrations/0008_pending-retries.sql";

/** Limits a mutation to seeds of one kind. */
export function withKind(kind: string, rare: Mutation): Mutation {
  return { ...rare, kind };
}

/** Creates a mutation of one snippet. `target` contains the snippet, as in `Replacement.in`. */
export function mutation(
  name: string,
  breaks: string,
  target: string,
  find: string,
  replace: string,
  times = 1,
): Mutation {
  return { name, breaks, replacements: [{ in: target, find, replace, times }] };
}
