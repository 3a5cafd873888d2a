import type { Database } from "@sluice/db";
import type { Time } from "./clock.ts";
import type { BatchBinding, Bounded } from "@sluice/inference";
import type { MemoryLimit } from "./memory.ts";

/** Everything a step reads from the world outside, passed in. */
export interface Context {
  readonly db: Database;
  readonly ai: BatchBinding;
  /** Bounds a call to Workers AI. */
  readonly bounded: Bounded;
  /** D1 statements that this invocation has made: those of a transaction one by one, and retries. */
  readonly statements: () => number;
  /** What all invocations in this isolate hold in memory. */
  readonly memory: MemoryLimit;
  /** Milliseconds since the epoch: by D1's clock, once `withDatabaseClock` has read it. */
  readonly now: () => number;
  /** The time of D1's clock, for a statement. */
  readonly databaseTime: () => Time;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Milliseconds between two runs of the poller. */
  readonly runInterval: number;
  /** One line of ids, counts and codes; never text of a document. `level: "error"` is for someone to look at. */
  readonly log: (event: LogEvent) => void;
}

export interface LogEvent {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null | readonly string[];
}
