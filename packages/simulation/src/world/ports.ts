import type { Random } from "../random.ts";
import type { Faults } from "./faults.ts";
import type { Invocation } from "./invocation.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** How long calls take in a seed: mostly short, sometimes long, or anything. */
export type Pace = "brisk" | "mixed" | "crawling";

/** The faults and delays of one call. */
export interface Passage {
  /** For the trace. */
  readonly fault: string | null;
  /** Milliseconds to the other side, and back. */
  readonly there?: number;
  readonly back?: number;
  /** Whether it never reaches the other side. */
  readonly lost?: boolean;
  /** The error that the caller gets instead of the answer. The work is still done unless the call is `lost`. */
  readonly error?: Error;
}

/** A call that takes longer may exceed the caller's time limit, which then does not learn its answer. Milliseconds. */
const MAX_PROMPT_MS = 30_000;

/** Carries every call between Workers and the world. A Worker may die at any of them. */
export class Ports {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #faults: Faults;
  readonly #trace: Trace;
  readonly #pace: Pace;
  onDeath: (invocation: Invocation) => void = () => undefined;

  constructor(world: { timeline: Timeline; random: Random; faults: Faults; trace: Trace; pace: Pace }) {
    this.#timeline = world.timeline;
    this.#random = world.random;
    this.#faults = world.faults;
    this.#trace = world.trace;
    this.#pace = world.pace;
  }

  /** Carries a call. `work` runs when it arrives; the promise settles when its answer is back. */
  call<T>(by: Invocation, label: string, passage: Passage, work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (by.isDead) return;
      if (this.#faults.strikes("worker_death_before_call")) return this.kill(by, `before ${label}`);
      const dies = this.#deathOnTheWay();
      this.#trace.add(by.name, label, dies ?? passage.fault);
      by.callBegan(passage.fault);
      by.beginWait();
      const there = passage.there ?? this.#latency();
      if (dies === "worker_death_in_flight") {
        const survived = this.#random.int(0, there * 2);
        this.#timeline.after(survived, () => this.kill(by, `with ${label} in flight`));
      }
      this.#timeline.after(there, () => {
        const settle = passage.lost === true ? failing<T>(passage.error) : this.#arrive(by, label, passage, work);
        if (this.#faults.strikes("worker_frozen")) this.#freeze(by);
        const back = passage.back ?? this.#latency();
        if (there + back > MAX_PROMPT_MS) by.callBegan("slow");
        by.later(back, () => {
          by.callEnded(passage.fault);
          by.endWait();
          if (dies === "worker_death_after_call") return this.kill(by, `after ${label}`);
          settle(resolve, reject);
        });
      });
    });
  }

  kill(invocation: Invocation, when: string): void {
    if (!invocation.isRunning) return;
    this.#trace.add(invocation.name, "dies", when);
    invocation.die();
    this.onDeath(invocation);
  }

  #arrive<T>(by: Invocation, label: string, passage: Passage, work: () => T): Settle<T> {
    let value: T;
    try {
      value = work();
    } catch (error) {
      this.#trace.add(by.name, `${label}: error`, error instanceof Error ? error.message : String(error));
      return failing(passage.error ?? error);
    }
    if (passage.error !== undefined) return failing(passage.error);
    return (resolve) => resolve(value);
  }

  #freeze(by: Invocation): void {
    const frozen = this.#random.spread(60_000, 1_000_000);
    this.#trace.add(by.name, `freezes for ${Math.round(frozen / 1_000)} s`, "worker_frozen");
    by.freeze(frozen);
    by.callBegan("worker_frozen");
  }

  #deathOnTheWay(): "worker_death_in_flight" | "worker_death_after_call" | null {
    if (this.#faults.strikes("worker_death_in_flight")) return "worker_death_in_flight";
    return this.#faults.strikes("worker_death_after_call") ? "worker_death_after_call" : null;
  }

  #latency(): number {
    if (!this.#faults.isOn || this.#pace === "brisk") return this.#random.int(1, 20);
    if (this.#pace === "crawling") return this.#random.spread(5, 30_000);
    return this.#random.chance(0.85) ? this.#random.int(1, 50) : this.#random.spread(50, 20_000);
  }
}

type Settle<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => void;

function failing<T>(error: unknown): Settle<T> {
  return (_, reject) => reject(error);
}
