import { join } from "node:path";
import { fullKey, localConfigurations, type Configuration } from "@sluice/local/configuration";

export const KEY = "bench-key-0123456789";

/** A source file of this package, by its path in `src`. */
export const source = (path: string): string => join(import.meta.dirname, "..", path);

export interface StackOptions {
  /** Seconds that a queue waits for a fuller delivery: the same for every arm. */
  readonly batchSeconds: number;
}

/** The other arms, each a Worker with its own database and queue. */
export const comparedWorkers = {
  floor: { main: "arms/floor-worker.ts", database: "5111ce00-0000-4000-8000-0000000000f1", vars: {} },
  relay: { main: "arms/relay-worker.ts", database: "5111ce00-0000-4000-8000-0000000000f5", vars: {} },
  tutorial: { main: "arms/tutorial-worker.ts", database: "5111ce00-0000-4000-8000-0000000000f2", vars: {} },
  "row-per-document": {
    main: "arms/row-per-document-worker.ts",
    database: "5111ce00-0000-4000-8000-0000000000f3",
    vars: { BATCHED: "false" },
  },
  "row-per-document-batched": {
    main: "arms/row-per-document-worker.ts",
    database: "5111ce00-0000-4000-8000-0000000000f4",
    vars: { BATCHED: "true" },
  },
} as const;

/** Seconds between poller runs in timed measurements. */
const EAGER_TICK_SECONDS = 0.02;

/**
 * The configurations of every Worker of every arm, for one runtime. Sluice's are the real ones, behind entries that
 * count. `sluice-poller` runs every minute as in production; `eager-poller` is the same with shorter intervals.
 */
export function benchConfigurations(options: StackOptions): Configuration[] {
  const local = localConfigurations({
    mode: "instant",
    tickSeconds: EAGER_TICK_SECONDS,
    events: false,
    apiKeys: [fullKey("bench", KEY)],
  });
  const counting = (worker: "producer" | "consumer" | "poller"): Configuration => ({
    ...local[worker],
    main: source(`workers/${worker}.ts`),
  });
  const consumer = counting("consumer");
  const poller = counting("poller");
  return [
    counting("producer"),
    withBatchSeconds(consumer, options),
    { ...poller, vars: { ...local.poller.vars, RUN_INTERVAL_SECONDS: "60" } },
    // A queue has one consumer.
    { ...poller, name: "eager-poller", queues: { producers: poller.queues?.producers ?? [] } },
    local["local-ai"],
    ...Object.entries(comparedWorkers).map(([name, arm]) => compared(name, arm, options)),
  ];
}

function withBatchSeconds(configuration: Configuration, { batchSeconds }: StackOptions): Configuration {
  const consumers = configuration.queues?.consumers ?? [];
  return {
    ...configuration,
    queues: {
      ...configuration.queues,
      consumers: consumers.map((consumer) => ({ ...consumer, max_batch_timeout: batchSeconds })),
    },
  };
}

function compared(
  name: string,
  { main, database, vars }: (typeof comparedWorkers)[keyof typeof comparedWorkers],
  { batchSeconds }: StackOptions,
): Configuration {
  return {
    name,
    main: source(main),
    vars,
    compatibility_date: "2026-08-15",
    compatibility_flags: ["nodejs_compat"],
    d1_databases: [{ binding: "DB", database_name: name, database_id: database }],
    queues: {
      producers: [{ binding: "QUEUE", queue: name }],
      consumers: [{ queue: name, max_batch_size: 100, max_batch_timeout: batchSeconds, max_retries: 3 }],
    },
    services: [{ binding: "AI", service: "local-ai", entrypoint: "WorkersAI" }],
  };
}
