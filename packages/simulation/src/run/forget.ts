import { stillNeededFlaw } from "../checks/forgotten.ts";
import type { Stack } from "../world/stack.ts";
import { MINUTE, type World } from "../world/world.ts";

const SWEEP_INTERVAL_MS = 5 * MINUTE;
/** Longer than anything but messages is kept, and so than a pass waits for the next. */
const PASS_MS = 4 * 60 * MINUTE;
/** Sweeps after everything ended, and then after every message has expired. */
const SWEEPS = 4;
const MESSAGES_EXPIRE_MS = 9 * 24 * 60 * MINUTE;

/** Lets retention run after everything has ended: a few sweeps, or some after all messages have expired. */
export async function forget(world: World, stack: Stack, stop: () => boolean, isLater: boolean): Promise<void> {
  if (isLater) await world.timeline.runUntil(world.timeline.now + MESSAGES_EXPIRE_MS, stop);
  for (let sweeps = 0; sweeps < SWEEPS && !stop(); sweeps += 1) {
    const wait = isLater ? PASS_MS : 1;
    const next = Math.ceil((world.timeline.now + wait) / SWEEP_INTERVAL_MS) * SWEEP_INTERVAL_MS;
    await world.timeline.runUntil(next, stop);
    stack.poll();
    await world.timeline.runUntil(next + MINUTE, stop);
  }
  if (isLater && !stop()) {
    const flaw = stillNeededFlaw(world);
    if (flaw !== null) world.fail(flaw);
  }
}
