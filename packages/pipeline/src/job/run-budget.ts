import type { Context } from "../platform/context.ts";

/** D1's limit per invocation. */
const MAX_STATEMENTS = 1_000;
/** Reserved for retries of statements, because their number is unknown. */
const RETRY_STATEMENTS = 150;
/** A run starts no new work after this, because the next run is about to start. */
const MAX_RUN_MS = 45_000;
/** Connections that an invocation can have open at the same time. */
const MAX_AT_ONCE = 6;

/** What one invocation may use: time, D1 statements and connections. */
export class RunBudget {
  readonly #context: Pick<Context, "now" | "statements">;
  readonly #startedAt: number;
  readonly #waiting: (() => void)[] = [];
  #reserved = 0;
  #open = 0;
  #isUsedUp = false;

  constructor(context: Pick<Context, "now" | "statements">) {
    this.#context = context;
    this.#startedAt = context.now();
  }

  /** Whether work was turned away because the share is used up. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  get statementsLeft(): number {
    return Math.max(0, MAX_STATEMENTS - RETRY_STATEMENTS - this.#context.statements() - this.#reserved);
  }

  /** Reserves up to this many statements. Returns a function that releases them, or `null` if no budget is left. */
  reserve(statements: number): (() => void) | null {
    if (this.#context.now() - this.#startedAt >= MAX_RUN_MS || statements > this.statementsLeft) {
      this.#isUsedUp = true;
      return null;
    }
    this.#reserved += statements;
    return () => {
      this.#reserved -= statements;
    };
  }

  /** Waits for one of six connections. Returns a function that releases it. */
  async connect(): Promise<() => void> {
    if (this.#open >= MAX_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#open += 1;
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#open -= 1;
      else next();
    };
  }
}
