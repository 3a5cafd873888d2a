import { openFlaw } from "../checks/final.ts";
import { nextRun } from "../world/cron.ts";
import type { Stack } from "../world/stack.ts";
import { MINUTE, type World } from "../world/world.ts";

/** Runs of the poller, once faults have stopped, within which everything must have ended. */
const MAX_QUIET_RUNS = 2_000;

/** Lets time pass, without a fault, until Sluice has nothing to do any more. */
export async function becomeQuiet(world: World, stack: Stack, stop: () => boolean): Promise<void> {
  const { timeline } = world;
  // What was under way may still be, for as long as a Worker may run.
  await timeline.runUntil(timeline.now + MINUTE, stop);
  for (let runs = 0; runs < MAX_QUIET_RUNS; runs += 1) {
    const next = nextRun(world);
    if (next === Infinity) {
      if (timeline.nextTime === Infinity) return;
      await timeline.runUntil(timeline.nextTime, stop);
      if (stop()) return;
      continue;
    }
    // Requests that take their time may bring something to do before that.
    while (timeline.nextTime < next && nextRun(world) === next) {
      await timeline.runUntil(Math.min(next, timeline.nextTime + MINUTE), stop);
      if (stop()) return;
    }
    // Later too: what moved it may have left something else to do before that.
    if (nextRun(world) !== next) continue;
    await timeline.runUntil(next, stop);
    if (stop()) return;
    stack.poll();
    // Its first step at least, so that what it claims is not due any more.
    await timeline.runUntil(next + 5_000, stop);
    if (stop()) return;
  }
  world.fail(`after ${MAX_QUIET_RUNS} runs of the poller without a fault: ${openFlaw(world)}`);
}
