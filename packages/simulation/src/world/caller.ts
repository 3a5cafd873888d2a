/**
 * Maximum skew between a Worker's clock and D1's after the Worker has read D1's, in milliseconds, in either direction.
 */
export const MAX_CLOCK_SKEW = 20_000;

export type WorkerName = "producer" | "consumer" | "poller" | "checker";

/** One run of a Worker, as the checks see it. */
export interface Caller {
  readonly name: string;
  readonly worker: WorkerName;
  readonly startedAt: number;
  /** Milliseconds since it started. */
  readonly ranFor: number;
  readonly isRunning: boolean;
  readonly isDead: boolean;
  /** The scopes that it paused, with the time at which D1 recorded each. */
  readonly raised: Map<string, number>;
  /** The tokens of the chain of runs that it holds: its own, and those of the messages it received. */
  readonly chainTokens: Set<string>;
  /** Bodies of the messages that queues accepted from it or lost. */
  readonly handedOver: ReadonlySet<unknown>;
  /** When it last gave up a call: at once, or after consecutive transient errors. */
  readonly gaveUpAt: number;
  /** Whether one of its calls fails or is answered late. */
  readonly hadFault: boolean;
}
