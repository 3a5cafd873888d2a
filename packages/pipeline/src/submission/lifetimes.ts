/** Times in milliseconds. */
const MINUTE = 60_000;

/** A closed submission that lacks recorded documents for this long is stalled. */
export const STALLED_AFTER_MS = 10 * MINUTE;

/**
 * Submissions are added to the totals for statistics after this long. Most have ended by then. One that has not costs
 * two more rows.
 */
export const ROLL_UP_AFTER_MS = 30 * MINUTE;

/** After this many runs of the poller, the message of a staged part that is not recorded counts as lost. */
const STAGED_RUNS = 10;

/** Poller runs between two sweeps. */
const SWEEP_RUNS = 5;

/** Milliseconds after which the poller records a staged part whose message did not arrive. */
export function stagedAfter(runInterval: number): number {
  return STAGED_RUNS * runInterval;
}

/** An open submission without activity for this long is abandoned: it is closed with the documents sent so far. */
export const ABANDONED_AFTER_MS = 60 * MINUTE;

/** A push without activity for this long counts as interrupted: the same `Idempotency-Key` may take it over. */
export const PUSH_ALIVE_MS = MINUTE;

/** A time this far ahead of now was written by a wrong clock and cannot be used to compute an age. */
export const WRONG_CLOCK_MS = 60 * MINUTE;

/** How long an `Idempotency-Key` is stored. */
export const IDEMPOTENCY_KEY_LIFE_MS = 24 * 60 * MINUTE;

/**
 * The maximum lifetime of a message: 4 days in its queue, 4 more in the dead-letter queue (Cloudflare's defaults), and
 * half a day as a margin.
 */
export const MESSAGE_LIFE_MS = 8.5 * 24 * 60 * MINUTE;

/**
 * Whether this poller run is the first in a sweep interval: every five minutes, with one run per minute. A missed sweep
 * is only delayed.
 */
export function isSweepDue(now: number, runInterval: number): boolean {
  const interval = SWEEP_RUNS * runInterval;
  return Math.floor(now / interval) !== Math.floor((now - runInterval) / interval);
}
