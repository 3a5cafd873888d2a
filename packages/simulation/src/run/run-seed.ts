import { finalFlaw } from "../checks/final.ts";
import { readBackFlaw } from "../checks/read-back.ts";
import { statsFlaw } from "../checks/stats.ts";
import type { Sqlite } from "../d1/sqlite.ts";
import { Clients } from "../world/clients.ts";
import { cronOf, fireUntil } from "../world/cron.ts";
import type { Fault } from "../world/fault-rates.ts";
import { LOAD_MS } from "../world/load.ts";
import { Stack } from "../world/stack.ts";
import { MINUTE, World, type SeedOptions } from "../world/world.ts";
import { becomeQuiet, endAlerts } from "./become-quiet.ts";
import { forget } from "./forget.ts";

export interface SeedResult {
  readonly seed: number;
  /** The failed check, or `null` if every check held. */
  readonly flaw: string | null;
  readonly kind: string;
  readonly occurred: readonly (readonly [Fault, number])[];
  readonly steps: number;
  readonly hash: string;
  /** Empty unless requested. */
  readonly trace: readonly string[];
}

/**
 * Runs a world from its seed: faults for about an hour, then none until everything has ended, then the final checks.
 */
export async function runSeed(seed: number, sqlite: Sqlite, options: SeedOptions): Promise<SeedResult> {
  sqlite.clear();
  const world = new World(seed, sqlite, options);
  const stack = new Stack(world);
  const clients = new Clients(world, stack);
  const stop = () => world.flaw !== null;

  const faultsEnd = world.timeline.now + (world.faults.isLoad ? LOAD_MS : world.random.spread(5, 240) * MINUTE);
  clients.plan(faultsEnd);
  fireUntil(world, cronOf(world, stack), faultsEnd);
  await world.timeline.runUntil(faultsEnd, stop);
  const earlyStatsFlaw = await statsFlaw(world);
  if (earlyStatsFlaw !== null) world.fail(earlyStatsFlaw);
  if (!stop()) {
    world.endFaults();
    clients.settle();
    await becomeQuiet(world, stack, stop);
    if (world.faults.forgets) await forget(world, stack, stop, false);
    if (!stop()) await endAlerts(world, stack, stop);
  }
  const check = async () => world.flaw ?? finalFlaw(world, clients.pushes) ?? (await readBackFlaw(world)) ?? world.flaw;
  let flaw = await check();
  if (flaw === null && world.faults.forgets) {
    await forget(world, stack, stop, true);
    if (!stop()) await endAlerts(world, stack, stop);
    flaw = await check();
  }
  if (flaw !== null) world.fail(flaw);
  return {
    seed,
    flaw,
    kind: world.faults.kind,
    occurred: [...world.faults.occurred],
    steps: world.trace.steps,
    hash: world.trace.hash,
    trace: world.trace.lines,
  };
}
