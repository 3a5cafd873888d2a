import type { Store } from "./batches.ts";
import type { Mode } from "./env.ts";
import type { Ledger } from "./ledger.ts";
import type { ModelProcess } from "./model-process.ts";

/** Everything that `run` works with, passed in. */
export interface Deps {
  readonly mode: Mode;
  /** How long a batch says `queued`, then `running`, in milliseconds, where the plan does not say. */
  readonly queuedMs: number;
  readonly runningMs: number;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly model: ModelProcess;
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Has the states of a batch reported as events. */
  readonly watch: (requestId: string) => Promise<void>;
}
