import type { EventDelivery } from "../checks/event-rules.ts";
import type { Caller, WorkerName } from "./caller.ts";
import type { Timeline } from "./timeline.ts";

/** Maximum attempts per call to D1. */
const MAX_TRIES = 4;

/**
 * One run of a Worker: its memory, its clock, and whether it is alive. The virtual clock stops while it runs without
 * waiting.
 */
export class Invocation implements Caller {
  readonly name: string;
  readonly worker: WorkerName;
  readonly startedAt: number;
  readonly raised = new Map<string, number>();
  readonly chainTokens = new Set<string>();
  readonly handedOver = new Set<unknown>();
  /** The submission that it opened, if any. */
  opened: string | null = null;
  gaveUpAt = -Infinity;
  hadFault = false;
  /** The delivery of events that started it; `null` if something else did. */
  events: EventDelivery | null = null;
  #failedTries = 0;
  readonly #timeline: Timeline;
  readonly #skew: number;
  #awakeAt = 0;
  #statements = 0;
  /** Pending calls and sleeps that only the clock can end. */
  #waits = 0;
  #state: "running" | "finished" | "dead" = "running";

  constructor(timeline: Timeline, worker: WorkerName, number: number, skew: number) {
    this.#timeline = timeline;
    this.#skew = skew;
    this.worker = worker;
    this.name = `${worker}#${number}`;
    this.startedAt = timeline.now;
    timeline.beginWork();
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** Whether it runs without waiting for the clock. The clock then waits for it. */
  get isWorking(): boolean {
    return this.isRunning && this.#waits === 0;
  }

  /** Returns the time by its own clock, in milliseconds since the epoch. */
  readonly now = (): number => this.#timeline.now + this.#skew;

  get ranFor(): number {
    return this.#timeline.now - this.startedAt;
  }

  /** Called with the fault of each call, as soon as it is known. */
  callBegan(fault: string | null): void {
    this.hadFault ||= fault !== null;
  }

  /** Called with the result of each call, including each attempt of a retried one. */
  callEnded(fault: string | null): void {
    this.#failedTries = fault === null ? 0 : this.#failedTries + 1;
    const isRepeated = fault === "d1_error_before" || fault === "d1_error_after_commit";
    if (fault !== null && (!isRepeated || this.#failedTries >= MAX_TRIES)) this.gaveUpAt = this.#timeline.now;
  }

  finish(): void {
    if (this.isRunning) this.#stop("finished");
  }

  /** Kills it: it receives no more answers, and its calls have no more effect. */
  die(): void {
    if (this.isRunning) this.#stop("dead");
  }

  /** Counts statements that it sends to D1. Returns the total so far. */
  countStatements(count: number): number {
    this.#statements += count;
    return this.#statements;
  }

  /** Counts a call or a sleep until `endWait`. */
  beginWait(): void {
    if (this.isWorking) this.#timeline.endWork();
    this.#waits += 1;
  }

  endWait(): void {
    this.#waits -= 1;
    if (this.isWorking) this.#timeline.beginWork();
  }

  /** Runs `work`, which takes turns of the event loop but no virtual time. The clock stops until it ends. */
  async work<T>(work: () => Promise<T>): Promise<T> {
    this.#timeline.beginWork();
    try {
      return await work();
    } finally {
      this.#timeline.endWork();
    }
  }

  /** Freezes it: answers and the ends of waits reach it after this many milliseconds at the earliest. */
  freeze(milliseconds: number): void {
    this.#awakeAt = Math.max(this.#awakeAt, this.#timeline.now + milliseconds);
  }

  /** Runs `go` after a delay and the end of any freeze, unless the Worker is dead by then. */
  later(delay: number, go: () => void): void {
    this.#timeline.after(delay, () => {
      if (this.isDead) return;
      const still = this.#awakeAt - this.#timeline.now;
      if (still > 0) return this.later(still, go);
      this.#timeline.wake();
      go();
    });
  }

  sleep(milliseconds: number): Promise<void> {
    this.beginWait();
    return new Promise((resolve) => {
      this.later(milliseconds, () => {
        this.endWait();
        resolve();
      });
    });
  }

  #stop(state: "finished" | "dead"): void {
    if (this.isWorking) this.#timeline.endWork();
    this.#state = state;
  }

  /**
   * Returns the result of `call`, or throws `late()` if it takes longer. The limit does not count as a wait, because
   * most calls end before it.
   */
  bounded<T>(call: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let settled = false;
      const settle = (go: () => void) => {
        if (settled) return;
        settled = true;
        go();
      };
      this.later(milliseconds, () => settle(() => reject(late())));
      call.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}
