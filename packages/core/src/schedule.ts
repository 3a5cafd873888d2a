/** Times in milliseconds. */
const MINUTE = 60_000;

/** A job is due at every run until it is this many runs old. */
const EAGER_RUNS = 10;

/**
 * When a dispatched job is due again: at the next run while it is young, then after a tenth of its
 * age. Half a run early, so that a run that starts a little soon does not pass it by, while one that
 * overlaps this finds it taken.
 */
export function nextPollAt(now: number, dispatchedAt: number, runInterval: number): number {
  const age = now - dispatchedAt;
  const wait = age < EAGER_RUNS * runInterval ? runInterval / 2 : Math.max(runInterval / 2, age / 10);
  return now + Math.round(wait);
}

/** Longest wait between two tries to dispatch a job that the service turns away for now. */
const MAX_BACKOFF = 15 * MINUTE;

/**
 * When to dispatch again after `tries` refusals in a row (1, 2, …): doubling from half a run, with
 * up to as much again at random, so that jobs refused together do not come back together. `random`
 * is in [0, 1).
 */
export function backoffUntil(now: number, tries: number, runInterval: number, random: number): number {
  const base = Math.min((runInterval / 2) * 2 ** Math.min(tries - 1, 20), MAX_BACKOFF);
  return now + Math.round(base * (1 + random));
}

/** How long a started attempt may take before it counts as broken off: longer than a call may. */
export const DISPATCH_LEASE = 2 * MINUTE;
/** How long a call to Workers AI may take. */
export const CALL_TIMEOUT = 60_000;
/** A batch without an answer for this long is dispatched again. */
export const STUCK_AFTER_MINUTES = 60;

/** The next 00:00 UTC: when the daily allowance of neurons is new. */
export function nextMidnight(now: number): number {
  const day = 24 * 60 * MINUTE;
  return (Math.floor(now / day) + 1) * day;
}
