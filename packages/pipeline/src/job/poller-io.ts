import type { StepIo } from "../platform/io.ts";

export interface PollerIo extends StepIo {
  /** Milliseconds without an answer after which a batch is dispatched again. */
  readonly stuckAfter: number;
  /** Sends the message that has a fresh invocation continue this run: see `continueRun`. */
  readonly continueLater: (token: string) => Promise<void>;
  readonly sleep: (milliseconds: number) => Promise<void>;
}
