import type { Shown } from "../baselines/baseline.ts";
import type { Cron } from "../world/cron.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import type { Pushing } from "../world/pushing.ts";

export const DESIGNS = ["sluice", "tutorial", "row-per-document", "row-per-document-by-id"] as const;
export type DesignName = (typeof DESIGNS)[number];

/** A design at work in a world. */
export interface Design {
  readonly pushing: Pushing;
  /** `null`: it has none. */
  readonly cron: Cron | null;
  /** Lets time pass, without a fault, until nothing changes any more. */
  becomeQuiet(stop: () => boolean): Promise<void>;
  /** What a reader is shown for a document of a push that was accepted, which nobody pushed again since. */
  read(push: Push, document: PushedDocument): Promise<Shown>;
  /** Dispatches of it that the design's own tables report; 1 if they report none. */
  recorded(push: Push, document: PushedDocument): number;
}
