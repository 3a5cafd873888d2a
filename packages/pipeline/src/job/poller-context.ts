import type { Context } from "../platform/context.ts";
import type { RetentionSettings } from "../submission/retention-rules.ts";

export interface PollerContext extends Context {
  /** Milliseconds without an answer after which a batch is dispatched again. */
  readonly stuckAfter: number;
  readonly retention: RetentionSettings;
  /** Sends the message that lets a fresh invocation continue this run: see `continueRun`. */
  readonly continueLater: (token: string) => Promise<void>;
  readonly sleep: (milliseconds: number) => Promise<void>;
}
