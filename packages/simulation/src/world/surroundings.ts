import type { Random } from "../random.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { Faults } from "./faults.ts";
import type { Ports } from "./ports.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** The interface that the parts of the world share. */
export interface Surroundings {
  readonly random: Random;
  readonly timeline: Timeline;
  readonly faults: Faults;
  readonly trace: Trace;
  readonly ports: Ports;
  readonly d1Clock: DatabaseClock;
  /** Reports a failed check. The first one ends the seed. */
  fail(flaw: string): void;
  /** Returns the time by D1's clock, the source of the times in its rows. */
  databaseNow(): number;
}
