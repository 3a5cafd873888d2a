import type { DatabaseLevel } from "@sluice/core";
import type { Context } from "../platform/context.ts";
import type { RunBudget } from "./run-budget.ts";

export interface PollerContext extends Context {
  /** Milliseconds without an answer after which a batch is dispatched again. */
  readonly stuckAfter: number;
  /** `MAX_DATABASE_BYTES`. */
  readonly maxDatabaseBytes: number;
  /**
   * Retention: deletes what may go at this level of the database, within the budget of the run. Gets the context with
   * D1's clock. `null`: nothing is deleted.
   */
  readonly retain: ((context: PollerContext, level: DatabaseLevel, budget: RunBudget) => Promise<void>) | null;
  /** Sends the message that lets a fresh invocation continue this run: see `continueRun`. */
  readonly continueLater: (token: string) => Promise<void>;
  readonly sleep: (milliseconds: number) => Promise<void>;
}
