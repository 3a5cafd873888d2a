/** How far a Worker's clock may be off D1's once it has read that, either way, in milliseconds. */
export const MAX_CLOCK_SKEW = 20_000;

export type WorkerName = "producer" | "consumer" | "poller" | "checker";

/** One run of a Worker, as far as checks look at it. */
export interface Caller {
  readonly name: string;
  readonly worker: WorkerName;
  readonly startedAt: number;
  /** Milliseconds since it started. */
  readonly ranFor: number;
  readonly isRunning: boolean;
  readonly isDead: boolean;
  /** Scopes that it paused, and when D1 had that. */
  readonly raised: Map<string, number>;
  /** Tokens of the chain of runs that it has: those of messages that it got, and its own. */
  readonly chainTokens: Set<string>;
  /** Bodies of messages that queues took from it, or lost. */
  readonly handedOver: ReadonlySet<unknown>;
  /** When it last gave a call up: after tries in a row that each failed for a moment, or at once. */
  readonly gaveUpAt: number;
}
