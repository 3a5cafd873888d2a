import {
  COST_ASSUMPTION,
  DEFAULT_MODEL,
  estimateCost,
  PushTally,
  TOKEN_ASSUMPTION,
  type ModelName,
} from "@sluice/core";
import type { Checked } from "./check.ts";

export interface Estimate {
  readonly documents: number;
  readonly contexts: number;
  /** Documents and lines that would be refused. */
  readonly refused: number;
  readonly tokens: number;
  readonly messages: number;
  readonly jobs: number;
  readonly usd: {
    readonly total: number;
    readonly workers_ai: number;
    readonly queues: number;
    readonly d1: number;
    readonly workers: number;
  };
  /** The assumptions behind the figures, one sentence each. */
  readonly assumptions: readonly string[];
}

/** Adds up the cost of documents. */
export class Estimator {
  readonly #tally: PushTally;
  #refused = 0;

  constructor(model: string | undefined) {
    // The API refuses a push with an unknown model as a whole.
    this.#tally = new PushTally((model ?? DEFAULT_MODEL) as ModelName);
  }

  add(checked: Checked): void {
    if (checked.ok) this.#tally.add(checked.document, checked.serialized);
    else this.#refused += 1;
  }

  estimate(): Estimate {
    const { totals } = this.#tally;
    const { messages, jobs, usd } = estimateCost(totals);
    const { documents, contexts, tokens } = totals;
    return {
      documents,
      contexts,
      refused: this.#refused,
      tokens,
      messages,
      jobs,
      usd: { total: usd.total, workers_ai: usd.workersAi, queues: usd.queues, d1: usd.d1, workers: usd.workers },
      assumptions: [TOKEN_ASSUMPTION, COST_ASSUMPTION],
    };
  }
}
