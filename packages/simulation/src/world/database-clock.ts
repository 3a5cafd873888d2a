import { Random } from "../random.ts";
import type { Faults } from "./faults.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

const MINUTE = 60_000;
/** The maximum error of a wrong clock, in milliseconds, in either direction. */
export const MAX_WRONG = 30 * 60 * MINUTE;
/**
 * The maximum adjustments of D1's clock, in milliseconds, in either direction: usually seconds, as when another machine
 * takes over the database; sometimes a minute, or hours if the clock is broken. Two of the longest together are shorter
 * than the life of an `Idempotency-Key`, because a key that has expired by D1's clock opens another submission.
 */
const MAX_SET = [5_000, 5_000, 5_000, MINUTE, 11 * 60 * MINUTE] as const;
const MAX_SETS = 2;
/** The share of seeds that adjust it. */
const SHARE = 0.25;
/** Kinds without faults, or with deadlines for scores. */
const NEVER_SET = ["calm", "load"];

/**
 * D1's clock, the source of the times in D1's rows. It may be wrong from the start, and may be adjusted while time
 * passes.
 */
export class DatabaseClock {
  /** How far it is ahead of the world's clock, in milliseconds. */
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
    // A separate generator, so that it does not affect the rest of a seed.
    const random = new Random(~seed);
    if (NEVER_SET.includes(faults.kind) || !random.chance(SHARE)) return;
    for (let sets = random.int(1, MAX_SETS); sets > 0; sets -= 1) {
      const most = random.pick(MAX_SET);
      const by = random.int(-most, most);
      timeline.after(random.spread(1_000, 180 * MINUTE), () => this.#set(by));
    }
  }

  /** Sets it back, at most once per seed. */
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
    this.#trace.add("d1", `adjusts its clock by ${by} ms`, "d1_clock_set");
  }

  now(): number {
    return this.#timeline.now + this.ahead;
  }

  /**
   * Returns the sum of the absolute adjustments since this world time, in milliseconds. Callers cannot distinguish them
   * from elapsed time.
   */
  setSince(time: number): number {
    return this.#sets.reduce((sum, { at, by }) => (at >= time ? sum + Math.abs(by) : sum), 0);
  }
}
