import { finalFlaw, openFlaw } from "../checks/final.ts";
import type { Sqlite } from "../d1/sqlite.ts";
import { Clients } from "../world/clients.ts";
import { fireUntil, nextRun } from "../world/cron.ts";
import type { Fault } from "../world/fault-rates.ts";
import { Stack } from "../world/stack.ts";
import { MINUTE, World, type SeedOptions } from "../world/world.ts";

export interface SeedResult {
  readonly seed: number;
  /** What was wrong; `null` where every check held. */
  readonly flaw: string | null;
  readonly kind: string;
  readonly met: readonly (readonly [Fault, number])[];
  readonly steps: number;
  readonly hash: string;
  /** Where it was asked for. */
  readonly trace: readonly string[];
}

/** Runs of the poller, once faults have stopped, within which everything must have ended. */
const MOST_QUIET_RUNS = 2_000;

/** One world from its seed: trouble for an hour or so, then quiet until everything has ended, then the last checks. */
export async function runSeed(seed: number, sqlite: Sqlite, options: SeedOptions): Promise<SeedResult> {
  sqlite.clear();
  const world = new World(seed, sqlite, options);
  const stack = new Stack(world);
  const clients = new Clients(world, stack);
  const stop = () => world.flaw !== null;

  const trouble = world.timeline.now + world.random.spread(5, 240) * MINUTE;
  clients.plan(trouble);
  fireUntil(world, stack, trouble);
  await world.timeline.runUntil(trouble, stop);
  if (!stop()) {
    world.trace.add("seed", "faults stop");
    world.faults.end();
    world.d1DownUntil = 0;
    clients.settle();
    await becomeQuiet(world, stack, stop);
  }
  const flaw = world.flaw ?? finalFlaw(world, clients.pushes);
  if (flaw !== null) world.fail(flaw);
  return {
    seed,
    flaw,
    kind: world.faults.kind,
    met: [...world.faults.met],
    steps: world.trace.steps,
    hash: world.trace.hash,
    trace: world.trace.lines,
  };
}

async function becomeQuiet(world: World, stack: Stack, stop: () => boolean): Promise<void> {
  const { timeline } = world;
  // What was under way may still be, for as long as a Worker may run.
  await timeline.runUntil(timeline.now + MINUTE, stop);
  for (let runs = 0; runs < MOST_QUIET_RUNS; runs += 1) {
    const next = nextRun(world);
    if (next === Infinity) {
      if (timeline.nextTime === Infinity) return;
      await timeline.runUntil(timeline.nextTime, stop);
      if (stop()) return;
      continue;
    }
    await timeline.runUntil(next, stop);
    if (stop()) return;
    stack.poll();
    // Its first step at least, so that what it claims is not due any more.
    await timeline.runUntil(next + 5_000, stop);
    if (stop()) return;
  }
  world.fail(`after ${MOST_QUIET_RUNS} runs of the poller without a fault: ${openFlaw(world)}`);
}
