import { measureCapacity } from "./measures/capacity-threads.ts";
import { measureDeliveries } from "./measures/deliveries.ts";
import { countLookups, countOperations } from "./measures/operations.ts";
import { measurePoison } from "./measures/poison.ts";
import { measurePoller } from "./measures/poller-cost.ts";
import type { CountedPlan } from "./plans.ts";
import type { Counted } from "./report/budgets.ts";
import { Stack } from "./runtime/stack.ts";

/** Long enough for a delivery to become full. */
const BATCH_SECONDS = 2.5;

/** Counts what the plan asks for, in a runtime of its own. */
export async function measureCounted(plan: CountedPlan, tell: (line: string) => void): Promise<Counted> {
  await using stack = await Stack.start({ batchSeconds: BATCH_SECONDS });
  tell("operations a document");
  const usages = await countOperations(stack, plan.operations);
  const lookups = await countLookups(stack);
  tell("jobs of a delivery");
  const deliveries = await measureDeliveries(stack, plan.deliveries);
  tell("poison");
  const poison = await measurePoison(stack, plan.poison);
  tell("runs of the poller");
  const pollerRuns = await measurePoller(stack, plan.pollerRuns);
  const capacity = await measureCapacity(plan.capacity, tell);
  return { usages, lookups, deliveries, poison, pollerRuns, capacity };
}
