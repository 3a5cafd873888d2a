import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { HOST } from "../../src/port.ts";
import type { GoOn, KilledWorker, Step } from "./step.ts";

/** Matches a step; SQL is matched by a substring. */
export interface StepPattern {
  readonly worker: KilledWorker;
  readonly asked: Step["asked"];
  readonly what: string;
}

/** Where the runtime is killed. */
export interface KillAt extends StepPattern {
  readonly moment: Step["moment"];
  /** Which matching step, from 1. */
  readonly nth: number;
  /** Steps that are blocked until then, so that the order is always the same. */
  readonly holds?: readonly StepPattern[];
}

interface Armed {
  readonly at: KillAt;
  seen: number;
  /** Settles at the step, with the promise of the restart. */
  readonly reached: PromiseWithResolvers<{ readonly restarted: Promise<void> }>;
}

/** Milliseconds to wait for a step, or for running invocations, before the test fails. */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 5;

/**
 * Receives every step of the Workers before it continues, and controls their clock. At the chosen step it kills the
 * runtime, either before or after the effect of the step.
 */
export class Director {
  readonly #server: Server;
  /** Kills the runtime and restarts it. */
  readonly #kill: () => Promise<void>;
  readonly #patience: number;
  /** Running invocations. */
  #open = 0;
  #isAlive = true;
  readonly #gone = new Set<string>();
  #isolates = new Set<string>();
  #armed: Armed | null = null;
  #holds: readonly StepPattern[] = [];
  #held: (readonly [Step, ServerResponse])[] = [];
  #trace: string[] = [];
  #ahead = 0;
  /** The largest size that D1 reported to a Worker. */
  largestDatabaseBytes = 0;

  private constructor(kill: () => Promise<void>, patience: number) {
    this.#kill = kill;
    this.#patience = patience;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async start(kill: () => Promise<void>, patience = PATIENCE_MS): Promise<Director> {
    const director = new Director(kill, patience);
    const listening = Promise.withResolvers<void>();
    director.#server.listen(0, HOST, listening.resolve);
    await listening.promise;
    return director;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the director is not listening");
    return `http://${HOST}:${address.port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Advances the Workers' clocks. Call it only when no invocation is running, so that no lease expires inside one. */
  async passTime(milliseconds: number): Promise<void> {
    await this.untilIdle();
    this.#ahead += milliseconds;
  }

  /** Waits until no Worker invocation is running. */
  async untilIdle(): Promise<void> {
    const until = performance.now() + this.#patience;
    while (this.#open > 0) {
      if (performance.now() > until) throw new Error(`the Workers do not finish: ${this.#steps()}`);
      await pause(LOOK_AGAIN_MS);
    }
  }

  /**
   * Runs the action that leads to the step, kills the runtime there, and returns once it runs again. The kill may fail
   * the action. Throws if the step is not reached.
   */
  async killAt(at: KillAt, action: (isOver: () => boolean) => Promise<unknown>): Promise<void> {
    const armed: Armed = { at, seen: 0, reached: Promise.withResolvers() };
    this.#armed = armed;
    this.#trace = [];
    this.#holds = at.holds ?? [];
    let broken: unknown = null;
    const acting = action(() => this.#armed !== armed).catch((error: unknown) => {
      broken = error;
    });
    const giveUp = new AbortController();
    const late = pause(this.#patience, "late" as const, { signal: giveUp.signal }).catch(() => "late" as const);
    const reached = await Promise.race([armed.reached.promise, late]);
    giveUp.abort();
    if (reached === "late") {
      this.#armed = null;
      this.#release();
      const also = broken instanceof Error ? `; the action before it failed: ${broken.message}` : "";
      throw new Error(`the kill was never reached${also}; seen: ${this.#steps()}`);
    }
    await reached.restarted;
    await acting;
  }

  /** Blocks steps until the next kill. */
  hold(patterns: readonly StepPattern[]): void {
    this.#holds = patterns;
  }

  /** Kills the runtime now, whatever it is doing. */
  async killNow(): Promise<void> {
    this.#isAlive = false;
    this.#armed = null;
    for (const isolate of this.#isolates) this.#gone.add(isolate);
    await this.#kill();
    this.#isolates = new Set();
    this.#holds = [];
    for (const [, response] of this.#held.splice(0)) response.destroy();
    this.#open = 0;
    this.#isAlive = true;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Only this folder's entries call it. A request interrupted by a kill never ends.
    const body = await text(request).catch(() => null);
    if (body === null) return;
    const step = JSON.parse(body) as Step;
    if (!this.#isAlive || this.#gone.has(step.isolate)) {
      response.destroy();
      return;
    }
    this.#isolates.add(step.isolate);
    this.largestDatabaseBytes = Math.max(this.largestDatabaseBytes, step.databaseBytes ?? 0);
    this.#trace.push(`${step.worker} ${step.asked} ${step.what.slice(0, 60)} (${step.moment})`);
    const armed = this.#armed;
    if (armed !== null && step.moment === armed.at.moment && isStep(step, armed.at)) {
      armed.seen += 1;
      if (armed.seen === armed.at.nth) {
        this.#held.push([step, response]);
        armed.reached.resolve({ restarted: this.killNow() });
        return;
      }
    }
    const isHeld = step.moment === "before" && this.#holds.some((pattern) => isStep(step, pattern));
    if (isHeld) this.#held.push([step, response]);
    else this.#goOn(step, response);
  }

  #goOn(step: Step, response: ServerResponse): void {
    // A held step has not begun.
    if (step.asked === "run") this.#open += step.moment === "before" ? 1 : -1;
    const answer: GoOn = { ahead: this.#ahead };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  }

  #release(): void {
    this.#holds = [];
    for (const [step, response] of this.#held.splice(0)) this.#goOn(step, response);
  }

  #steps(): string {
    return this.#trace.length === 0 ? "nothing" : this.#trace.slice(-40).join(", ");
  }
}

function isStep(step: Step, { worker, asked, what }: StepPattern): boolean {
  return step.worker === worker && step.asked === asked && step.what.includes(what);
}
