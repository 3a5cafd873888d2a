import type { EventDelivery } from "../checks/event-rules.ts";
import type { Dispatch } from "../checks/state.ts";
import type { Timeline } from "./timeline.ts";

/** How far a Worker's clock may be off D1's once it has read that, either way, in milliseconds. */
export const MAX_CLOCK_SKEW = 20_000;

/** Tries of a call to D1 in all. */
const TRIES = 4;

export type WorkerName = "producer" | "consumer" | "poller" | "checker";

/** One run of a Worker: its memory, its clock, and whether it lives. While it runs and waits for nothing, the clock stands. */
export class Invocation {
  readonly name: string;
  readonly worker: WorkerName;
  readonly startedAt: number;
  /** Dispatches at dispatching that it started. */
  readonly dispatches: Dispatch[] = [];
  /** Scopes that it paused, and when D1 had that. */
  readonly raised = new Map<string, number>();
  /** Tokens of the chain of runs that it has: those of messages that it got, and its own. */
  readonly chainTokens = new Set<string>();
  /** Bodies of messages that queues took from it, or lost. */
  readonly handedOver = new Set<unknown>();
  /** The submission that it opened. */
  opened: string | null = null;
  /** When it last gave a call up: after tries in a row that each failed for a moment, or at once. */
  gaveUpAt = -Infinity;
  /** The delivery of events that it has; `null`: something else started it. */
  events: EventDelivery | null = null;
  #failedTries = 0;
  readonly #timeline: Timeline;
  readonly #skew: number;
  #awakeAt = 0;
  #statements = 0;
  /** Calls and sleeps that only the clock can end. */
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

  /** Whether it runs and waits for nothing that the clock can end: then the clock waits for it. */
  get isWorking(): boolean {
    return this.isRunning && this.#waits === 0;
  }

  /** The time by its own clock, in milliseconds since the epoch. */
  readonly now = (): number => this.#timeline.now + this.#skew;

  /** Milliseconds since it started. */
  get ranFor(): number {
    return this.#timeline.now - this.startedAt;
  }

  /** Hears how a call ended, a try of one that is repeated included. */
  callEnded(fault: string | null): void {
    this.#failedTries = fault === null ? 0 : this.#failedTries + 1;
    const isRepeated = fault === "d1_error_before" || fault === "d1_error_after_commit";
    if (fault !== null && (!isRepeated || this.#failedTries >= TRIES)) this.gaveUpAt = this.#timeline.now;
  }

  finish(): void {
    if (this.isRunning) this.#stop("finished");
  }

  /** From here on nothing it waits for comes, and nothing it does reaches anybody. */
  die(): void {
    if (this.isRunning) this.#stop("dead");
  }

  /** Counts statements that it asks D1 for. Gives how many those are so far. */
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

  /** What `work` gives, which takes turns of the event loop and no virtual time: the clock stands until it ends. */
  async work<T>(work: () => Promise<T>): Promise<T> {
    this.#timeline.beginWork();
    try {
      return await work();
    } finally {
      this.#timeline.endWork();
    }
  }

  /** Stands still: whatever comes, an answer or the end of a wait, comes to it after this many milliseconds at the soonest. */
  freeze(milliseconds: number): void {
    this.#awakeAt = Math.max(this.#awakeAt, this.#timeline.now + milliseconds);
  }

  /** Runs `go` after a while, as soon as the Worker does not stand still, unless it is dead by then. */
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

  /** What `call` gives, or what `late` throws where it takes longer. The limit counts as no wait: it outlasts most calls. */
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
