import { drawPush, drawSecondSend, drawTimes, type Push } from "../world/pushes.ts";
import type { Pushing } from "../world/pushing.ts";
import type { World } from "../world/world.ts";

/** A push at its time, and in how many milliseconds the same one comes in from a second side. */
export interface PlannedPush {
  readonly time: number;
  readonly push: Push;
  readonly again: number | null;
}

/** Draws all pushes of a seed before anything happens: the same ones for every design. */
export function drawPlan(world: World, end: number): PlannedPush[] {
  const { faults, random } = world;
  return drawTimes(world, end)
    .toSorted((a, b) => a - b)
    .map((time, index) => {
      const push = drawPush(index, random, faults);
      return { time, push, again: drawSecondSend(push, random, faults) };
    });
}

export function carryOut(plan: readonly PlannedPush[], { timeline }: World, pushing: Pushing): void {
  for (const { time, push, again } of plan) {
    timeline.at(time, () => {
      pushing.start(push);
      if (again !== null) timeline.after(again, () => pushing.startAgain(push));
    });
  }
}
