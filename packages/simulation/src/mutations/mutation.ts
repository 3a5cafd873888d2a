import type { Replacement } from "../run/patches.ts";

/** A deliberate breakage of the product, which the simulation must notice. */
export interface Mutation {
  readonly name: string;
  /** What it breaks. */
  readonly breaks: string;
  readonly replacements: readonly Replacement[];
  /** The kind of seeds that it is tried with, where of those of every kind two in a thousand meet it at most. */
  readonly kind?: string;
}

/** Where the views are created last, and where `submissions_progress` is. */
export const VIEWS = "migrations/0003_key-by-collection.sql";
export const PROGRESS_VIEW = "migrations/0008_pending-retries.sql";

/** The same, tried with seeds of one kind only. */
export function withKind(kind: string, rare: Mutation): Mutation {
  return { ...rare, kind };
}

/** A mutation of one snippet. `target`: what holds the snippet, as in `Replacement.in`. */
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
