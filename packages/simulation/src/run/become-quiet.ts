import { openFlaw } from "../checks/final.ts";
import { nextRun } from "../world/cron.ts";
import type { Stack } from "../world/stack.ts";
import { MINUTE, type World } from "../world/world.ts";

/** Poller runs after the faults stop, within which everything must have ended. */
const MAX_QUIET_RUNS = 2_000;

/** Advances time without faults until Sluice has nothing left to do. */
export async function becomeQuiet(world: World, stack: Stack, stop: () => boolean): Promise<void> {
  const { timeline } = world;
  // Running Workers may take a moment to finish.
  await timeline.runUntil(timeline.now + MINUTE, stop);
  for (let runs = 0; runs < MAX_QUIET_RUNS;) {
    const next = nextRun(world);
    if (next === Infinity) {
      if (timeline.nextTime === Infinity) return;
      await timeline.runUntil(timeline.nextTime, stop);
      if (stop()) return;
      continue;
    }
    // Slow requests may make something due earlier.
    while (timeline.nextTime < next && nextRun(world) === next) {
      await timeline.runUntil(Math.min(next, timeline.nextTime + MINUTE), stop);
      if (stop()) return;
    }
    // If the due time moved, something else may be due earlier or later. A watched room is due every minute.
    if (!world.room.isWatched && nextRun(world) !== next) continue;
    await timeline.runUntil(next, stop);
    if (stop()) return;
    stack.poll();
    runs += 1;
    // Run at least its first step, so that the jobs it claims are no longer due.
    await timeline.runUntil(next + 5_000, stop);
    if (stop()) return;
  }
  world.fail(`after ${MAX_QUIET_RUNS} poller runs without faults: ${openFlaw(world)}`);
}

/**
 * Longer than anything that keeps an alert raised after its cause is gone, in milliseconds: an hour, and as far as D1's
 * clock is set back in a seed.
 */
const ALERTS_END_AFTER_MS = 26 * 60 * MINUTE;
/** The poller looks at alerts once in this time. */
const SWEEP_INTERVAL_MS = 5 * MINUTE;

/**
 * Runs the poller hours later, so that alerts without a cause end. Twice: retention follows the alerts in a run, and may
 * delete the cause of one.
 */
export async function endAlerts({ timeline }: World, stack: Stack, stop: () => boolean): Promise<void> {
  const later = Math.ceil((timeline.now + ALERTS_END_AFTER_MS) / SWEEP_INTERVAL_MS) * SWEEP_INTERVAL_MS;
  for (const sweep of [later, later + SWEEP_INTERVAL_MS]) {
    await timeline.runUntil(sweep, stop);
    if (stop()) return;
    stack.poll();
  }
  await timeline.runUntil(later + SWEEP_INTERVAL_MS + MINUTE, stop);
}
