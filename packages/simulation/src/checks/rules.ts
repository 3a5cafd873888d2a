import type { RetentionRules } from "./retention.ts";
import type { Content, VersionKey } from "./state.ts";

/** What the mirror needs of the world. */
export interface Rules {
  readonly fail: (flaw: string) => void;
  /** By D1's clock, and by the world's. */
  readonly now: () => number;
  readonly worldNow: () => number;
  /** Returns how far D1's clock was adjusted since a world time, in milliseconds. */
  readonly clockSetSince: (time: number) => number;
  readonly retention: RetentionRules;
  /** Returns the content that a client pushed under this key, if any. */
  readonly contentOf: (key: VersionKey) => Content | undefined;
}
