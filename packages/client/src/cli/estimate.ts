import {
  MAX_JOB_BYTES,
  MAX_JOB_CONTEXTS,
  MAX_JOB_DOCUMENTS,
  MAX_PART_BYTES,
  SCORING_MODELS,
  DEFAULT_MODEL,
} from "@sluice/core";
import type { Checked } from "./check.ts";

/** English text has about so many characters a token. */
const CHARACTERS_A_TOKEN = 4;

/** List prices in dollars: a million tokens of bge-m3, Queue operations, D1 rows. */
const PER_MILLION = { tokens: 0.012, queueOperations: 0.4, rowsWritten: 1, rowsRead: 0.001 } as const;
/** A Queue operation moves 64,000 bytes; each is written, read and deleted. */
const OPERATION_BYTES = 64_000;
const OPERATIONS_A_MESSAGE = 3;
/** Messages that one delivery takes, and so the jobs that are made of it. */
const DELIVERY_MESSAGES = 100;
/** What a document in bulk takes in D1 up to its scores. */
const ROWS_WRITTEN = 2.1;
const ROWS_READ = 12;

export interface Estimate {
  readonly documents: number;
  readonly contexts: number;
  /** Lines that would be refused. */
  readonly refused: number;
  readonly tokens: number;
  readonly jobs: number;
  readonly usd: { readonly total: number; readonly workers_ai: number; readonly queues: number; readonly d1: number };
}

/** Adds up what documents would take. */
export class Estimator {
  #documents = 0;
  #contexts = 0;
  #refused = 0;
  #tokens = 0;
  #bytes = 0;
  #payloadBytes = 0;

  add(checked: Checked): void {
    if (!checked.ok) {
      this.#refused += 1;
      return;
    }
    this.#documents += 1;
    this.#contexts += checked.contexts.length;
    this.#bytes += checked.bytes;
    this.#payloadBytes += checked.payloadBytes;
    this.#tokens += tokensOf(checked.query);
    for (const context of checked.contexts) this.#tokens += tokensOf(context);
  }

  estimate(): Estimate {
    const messages = Math.ceil(this.#bytes / MAX_PART_BYTES);
    const operations = OPERATIONS_A_MESSAGE * Math.max(messages, Math.ceil(this.#bytes / OPERATION_BYTES));
    const workersAi = (this.#tokens * PER_MILLION.tokens) / 1e6;
    const queues = (operations * PER_MILLION.queueOperations) / 1e6;
    const d1 = (this.#documents * (ROWS_WRITTEN * PER_MILLION.rowsWritten + ROWS_READ * PER_MILLION.rowsRead)) / 1e6;
    return {
      documents: this.#documents,
      contexts: this.#contexts,
      refused: this.#refused,
      tokens: this.#tokens,
      jobs: this.#jobs(messages),
      usd: { total: workersAi + queues + d1, workers_ai: workersAi, queues, d1 },
    };
  }

  /** The fewest that fit, delivery by delivery. */
  #jobs(messages: number): number {
    const deliveries = Math.ceil(messages / DELIVERY_MESSAGES);
    if (deliveries === 0) return 0;
    const fullest = Math.max(
      this.#payloadBytes / MAX_JOB_BYTES,
      this.#documents / MAX_JOB_DOCUMENTS,
      this.#contexts / MAX_JOB_CONTEXTS,
    );
    return deliveries * Math.ceil(fullest / deliveries);
  }
}

function tokensOf(text: string): number {
  return Math.min(Math.ceil(text.length / CHARACTERS_A_TOKEN), SCORING_MODELS[DEFAULT_MODEL].windowTokens);
}
