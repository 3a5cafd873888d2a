import type { Random } from "../random.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { Faults } from "./faults.ts";
import type { Ports } from "./ports.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** What the parts of the world share. */
export interface Surroundings {
  readonly random: Random;
  readonly timeline: Timeline;
  readonly faults: Faults;
  readonly trace: Trace;
  readonly ports: Ports;
  readonly d1Clock: DatabaseClock;
  /** A check does not hold: the first flaw ends the seed. */
  fail(flaw: string): void;
  /** The time by D1's clock: times in its rows are of that. */
  databaseNow(): number;
}
