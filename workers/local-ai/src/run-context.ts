import type { Store } from "./batches.ts";
import type { Mode } from "./env.ts";
import type { Ledger } from "./ledger.ts";
import type { ModelProcess } from "./model-process.ts";

/** The context of `run`. */
export interface RunContext {
  readonly mode: Mode;
  /** How long a batch is `queued`, then `running`, in milliseconds, unless the plan says otherwise. */
  readonly queuedMs: number;
  readonly runningMs: number;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly model: ModelProcess;
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Requests that the states of a batch are reported as events. */
  readonly watch: (requestId: string) => Promise<void>;
}
