import type { Shown } from "../baselines/baseline.ts";
import type { Cron } from "../world/cron.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import type { Pushing } from "../world/pushing.ts";

export const DESIGNS = ["sluice", "tutorial", "row-per-document", "row-per-document-by-id"] as const;
export type DesignName = (typeof DESIGNS)[number];

/** A design that runs in a world. */
export interface Design {
  readonly pushing: Pushing;
  /** `null` if the design has none. */
  readonly cron: Cron | null;
  /** Advances time without faults until nothing changes. */
  becomeQuiet(stop: () => boolean): Promise<void>;
  /** Reads a document of an accepted push that was not pushed again later. */
  read(push: Push, document: PushedDocument): Promise<Shown>;
  /** Counts its dispatches that the design's tables report; 1 if they report none. */
  recorded(push: Push, document: PushedDocument): number;
}
