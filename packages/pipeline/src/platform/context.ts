import type { Database } from "@sluice/db";
import type { Time } from "./clock.ts";
import type { BatchBinding, Bounded } from "@sluice/inference";
import type { MemoryLimit } from "./memory.ts";

/** Everything that a step gets from outside. */
export interface Context {
  readonly db: Database;
  readonly ai: BatchBinding;
  /** Limits the time of a call to Workers AI. */
  readonly bounded: Bounded;
  /** D1 statements that this invocation has sent. Each statement of a transaction counts, and so does each retry. */
  readonly statements: () => number;
  /** The memory limit that all invocations in this isolate share. */
  readonly memory: MemoryLimit;
  /** Milliseconds since the epoch, by D1's clock once `withDatabaseClock` has read it. */
  readonly now: () => number;
  /** The time of D1's clock, for a statement. */
  readonly databaseTime: () => Time;
  /** In [0, 1). */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Milliseconds between two runs of the poller. */
  readonly runInterval: number;
  /** Logs one line of ids, counts and codes; never text of a document. `level: "error"` asks a person to look at it. */
  readonly log: (event: LogEvent) => void;
}

export interface LogEvent {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null | readonly string[];
}
