interface Task {
  readonly weight: number;
  readonly run: () => Promise<void>;
}

/**
 * Runs tasks in their order, at most `atOnce` at a time and with at most `weight` in sum, so that
 * one large task runs with few others. A task that is heavier than the limit runs alone.
 */
export async function runWithin(
  tasks: readonly Task[],
  limit: { readonly atOnce: number; readonly weight: number },
): Promise<void> {
  const running = new Set<Promise<void>>();
  let weight = 0;
  for (const task of tasks) {
    while (running.size > 0 && (running.size >= limit.atOnce || weight + task.weight > limit.weight)) {
      await Promise.race(running);
    }
    weight += task.weight;
    const run = task.run().finally(() => {
      running.delete(run);
      weight -= task.weight;
    });
    running.add(run);
  }
  await Promise.all(running);
}
