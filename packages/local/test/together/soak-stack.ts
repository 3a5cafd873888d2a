import { Machine } from "../kill-matrix/machine.ts";

/** So small that some dozens of pushes fill it. */
export const LIMIT_BYTES = 2_500_000;
const DAY_MS = 86_400_000;
/** Retention by age within the time of a soak, and a limit that is reached many times. */
export const RETAIN_TEXTS_MS = 0.005 * DAY_MS;
export const RETAIN_HISTORY_MS = 0.02 * DAY_MS;
const settings = {
  localAi: "instant",
  retention: {
    RETAIN_TEXTS_DAYS: String(RETAIN_TEXTS_MS / DAY_MS),
    RETAIN_HISTORY_DAYS: String(RETAIN_HISTORY_MS / DAY_MS),
  },
  maxDatabaseBytes: LIMIT_BYTES,
} as const;

/** Starts a stack with a small database. Its deliveries are as small, so that one fits into the last five percent. */
export function startSmall(signal: AbortSignal): Promise<Machine> {
  return Machine.start(signal, settings, (worker, configuration) => {
    if (worker !== "consumer") return configuration;
    const { queues, vars } = configuration;
    const consumers = (queues?.consumers ?? []).map((one) => ({ ...one, max_batch_size: 1, max_concurrency: 1 }));
    // The Queue measures the wait for room by the machine's clock, so it is a second.
    return { ...configuration, vars: { ...vars, RUN_INTERVAL_SECONDS: "0.02" }, queues: { ...queues, consumers } };
  });
}
