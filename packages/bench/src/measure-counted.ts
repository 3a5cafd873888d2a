import { measureDeliveries } from "./measures/deliveries.ts";
import { countLookups, countOperations } from "./measures/operations.ts";
import { measurePoison } from "./measures/poison.ts";
import { measurePoller } from "./measures/poller-cost.ts";
import { measureRoom } from "./measures/room.ts";
import { measureVirtual } from "./measures/virtual-threads.ts";
import type { CountedPlan } from "./plans.ts";
import type { Counted } from "./report/budgets.ts";
import { Stack } from "./runtime/stack.ts";

/** Seconds, long enough for a delivery to become full. */
export const BATCH_SECONDS = 2.5;

/** Counts the cases of the plan in their own runtime. */
export async function measureCounted(plan: CountedPlan, report: (line: string) => void): Promise<Counted> {
  await using stack = await Stack.start({ batchSeconds: BATCH_SECONDS });
  report("operations per document");
  const usages = await countOperations(stack, plan.operations);
  const lookups = await countLookups(stack);
  report("jobs per delivery");
  const deliveries = await measureDeliveries(stack, plan.deliveries);
  report("poison");
  const poison = await measurePoison(stack, plan.poison);
  report("poller runs");
  const pollerRuns = await measurePoller(stack, plan.pollerRuns);
  const room = await measureRoom(stack, plan.room, report);
  const virtual = await measureVirtual(plan.virtual, report);
  const freshness = virtual.filter((one) => one.kind === "freshness");
  const capacity = virtual.filter((one) => one.kind !== "freshness");
  return { usages, lookups, deliveries, poison, pollerRuns, room, capacity, freshness };
}
