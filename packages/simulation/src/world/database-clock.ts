import { Random } from "../random.ts";
import type { Faults } from "./faults.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

const MINUTE = 60_000;
/** Milliseconds by which a clock that is wrong is off, either way, at most. */
export const MAX_WRONG = 30 * 60 * MINUTE;
/**
 * Milliseconds by which D1's clock is set, either way, at most: some seconds, as when another machine takes the
 * database over, and now and then a minute, or hours where it is broken. Of those, two are less than the life of an
 * `Idempotency-Key`: one that is over by D1's clock opens another submission.
 */
const MAX_SET = [5_000, 5_000, 5_000, MINUTE, 11 * 60 * MINUTE] as const;
const MAX_SETS = 2;
/** How many seeds have it set. */
const SHARE = 0.25;
/** Kinds without a fault, or where scores must come in time. */
const NEVER_SET = ["calm", "load"];

/** D1's clock, which may be wrong from the start, and set while time passes: times in D1's rows are of it. */
export class DatabaseClock {
  /** Milliseconds by which it is ahead of the world's. */
  ahead = 0;
  readonly #timeline: Timeline;
  readonly #faults: Faults;
  readonly #trace: Trace;
  #wasSetBack = false;
  readonly #sets: { readonly at: number; readonly by: number }[] = [];

  constructor(seed: number, world: { timeline: Timeline; random: Random; faults: Faults; trace: Trace }) {
    const { faults, timeline, trace } = world;
    this.#timeline = timeline;
    this.#faults = faults;
    this.#trace = trace;
    if (faults.strikes("d1_clock_off")) {
      this.ahead = world.random.int(-MAX_WRONG, MAX_WRONG);
      trace.add("d1", `has a clock that is ${this.ahead} ms ahead`);
    }
    // Draws of its own, so that the rest of a seed is the same without.
    const random = new Random(~seed);
    if (NEVER_SET.includes(faults.kind) || !random.chance(SHARE)) return;
    for (let sets = random.int(1, MAX_SETS); sets > 0; sets -= 1) {
      const most = random.pick(MAX_SET);
      const by = random.int(-most, most);
      timeline.after(random.spread(1_000, 180 * MINUTE), () => this.#set(by));
    }
  }

  /** Sets it back, once in a seed. */
  setBack(by: number): void {
    if (this.#wasSetBack) return;
    this.#wasSetBack = true;
    this.#set(-by);
  }

  #set(by: number): void {
    if (!this.#faults.isOn) return;
    this.#faults.count("d1_clock_set");
    this.ahead += by;
    this.#sets.push({ at: this.#timeline.now, by });
    this.#trace.add("d1", `has its clock set by ${by} ms`, "d1_clock_set");
  }

  now(): number {
    return this.#timeline.now + this.ahead;
  }

  /** Milliseconds by which it was set since this time of the world, both ways added up: nobody can distinguish them from time. */
  setSince(time: number): number {
    return this.#sets.reduce((sum, { at, by }) => (at >= time ? sum + Math.abs(by) : sum), 0);
  }
}
