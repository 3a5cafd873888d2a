/** The first wait, as a share of the interval of poller runs: each run may make room. */
const FIRST_WAIT_RUNS = 0.5;
/** The longest wait: 90 minutes with a run per minute. */
const MAX_WAIT_RUNS = 90;

/**
 * Seconds until a message is delivered again that found the database full at delivery number `delivery`, counted from 1.
 * The wait doubles, so that a message waits about as long as the database has been full. With the `max_retries` of the
 * queues, a message outlasts the four days that each keeps it.
 */
export function waitForRoom(delivery: number, runInterval: number): number {
  const runs = Math.min(FIRST_WAIT_RUNS * 2 ** (delivery - 1), MAX_WAIT_RUNS);
  return Math.ceil((runs * runInterval) / 1_000);
}
