import type { HeapUse } from "../measures/memory.ts";
import type { ThroughputRun } from "../measures/throughput.ts";
import type { BudgetLine } from "./budget-line.ts";
import type { Counted } from "./budgets.ts";
import type { Machine } from "./machine.ts";

/** Everything that a full run measures: `results.json`. */
export interface Results {
  readonly date: string;
  /** When room was measured. */
  readonly roomDate: string;
  readonly machine: Machine;
  readonly budgets: readonly BudgetLine[];
  /** Times and heaps with their goals: reported, and never failing a run. */
  readonly goals: readonly BudgetLine[];
  readonly counted: Counted;
  readonly throughput: {
    /** All arms with the same documents, in turns. */
    readonly compared: readonly ThroughputRun[];
    /** The same documents in growing numbers. */
    readonly growth: readonly ThroughputRun[];
  };
  readonly memory: readonly HeapUse[];
}
