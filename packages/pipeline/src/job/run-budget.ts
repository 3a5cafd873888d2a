import type { PollerContext } from "./poller-context.ts";

/** D1's limit for an invocation. */
const MAX_STATEMENTS = 1_000;
/** Reserved for retries of statements in progress, whose number is unknown. */
const RETRY_STATEMENTS = 150;
/** A run takes on nothing more after this: the next one is about to start. */
const MAX_RUN_MS = 45_000;
/** Connections that an invocation has open at once. */
const MAX_AT_ONCE = 6;

/** What one invocation may use: time, D1 statements and connections. */
export class RunBudget {
  readonly #context: Pick<PollerContext, "now" | "statements">;
  readonly #startedAt: number;
  readonly #waiting: (() => void)[] = [];
  #reserved = 0;
  #open = 0;
  #isUsedUp = false;

  constructor(context: Pick<PollerContext, "now" | "statements">) {
    this.#context = context;
    this.#startedAt = context.now();
  }

  /** Whether something was not taken on because of its share. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  get statementsLeft(): number {
    return Math.max(0, MAX_STATEMENTS - RETRY_STATEMENTS - this.#context.statements() - this.#reserved);
  }

  /** Reserves at most this many statements; returns a function that releases them. `null`: no share is left. */
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

  /** Waits for one of six connections; returns what closes it. */
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
