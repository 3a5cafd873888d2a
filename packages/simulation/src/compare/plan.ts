import { drawPush, drawSecondSend, drawTimes, type Push } from "../world/pushes.ts";
import type { Pushing } from "../world/pushing.ts";
import type { World } from "../world/world.ts";

/** A push with its time, and the delay in milliseconds until a second client sends the same push. */
export interface PlannedPush {
  readonly time: number;
  readonly push: Push;
  readonly again: number | null;
}

/** Draws all pushes of a seed in advance, so that every design gets the same ones. */
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
