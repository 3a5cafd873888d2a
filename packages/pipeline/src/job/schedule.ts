/** Times in milliseconds. */
const MINUTE = 60_000;

/** Maximum wait until a dispatched job is first due: small batches are often done by then. */
const FIRST_POLL_MS = 10_000;

/**
 * When to poll a job first that was dispatched at `now`. Sooner if runs follow each other faster than once a minute.
 */
export function firstPollAt(now: number, runInterval: number): number {
  return now + Math.round(Math.min(FIRST_POLL_MS, runInterval / 6));
}

/** How long a job whose batch is in progress waits for its next poll, in milliseconds. */
export interface PollWaits {
  /** Half a run: a run that starts early finds the job due, and an overlapping run finds it claimed. */
  readonly waitMs: number;
  /** From this age on, it waits a tenth of its age, if that is longer. */
  readonly eagerMs: number;
}

/** A job is due at every run until it is this many runs old. */
const EAGER_RUNS = 10;

export function pollWaits(runInterval: number): PollWaits {
  return { waitMs: Math.round(runInterval / 2), eagerMs: EAGER_RUNS * runInterval };
}

/** Maximum wait before a job that was refused temporarily is dispatched again. */
const MAX_BACKOFF = 15 * MINUTE;

/**
 * When to dispatch again after `tries` consecutive refusals (1, 2, …). The wait starts at half a run and doubles. Up to
 * the same amount is added at random, so that jobs refused together do not return together. `random` is in [0, 1).
 */
export function backoffUntil(now: number, tries: number, runInterval: number, random: number): number {
  const base = Math.min((runInterval / 2) * 2 ** Math.min(tries - 1, 20), MAX_BACKOFF);
  return now + Math.round(base * (1 + random));
}

/** Maximum wait between two batches of a job that may have been accepted but returned no result. */
const MAX_BATCH_BACKOFF_MS = 6 * 60 * MINUTE;

/**
 * When to dispatch again after `batches` batches that may have been accepted. The wait starts at half a run and grows
 * fourfold with each. Up to a quarter is added at random. Each batch may have to be paid for, and their number is
 * limited, so ten span more than a day: an outage of a day fails no document. `random` is in [0, 1).
 */
export function nextBatchAt(now: number, batches: number, runInterval: number, random: number): number {
  const base = Math.min((runInterval / 2) * 4 ** Math.min(batches - 1, 10), MAX_BATCH_BACKOFF_MS);
  return now + Math.round(base * (1 + random / 4));
}

/** Workers AI accepts 3,000 requests per minute to an embedding model, as published. */
export const MAX_SUBMITS_PER_MINUTE = 3_000;
/** The average interval between submits of a model, in milliseconds: 2,500 per minute. */
export const SUBMIT_SPACING_MS = 24;
/**
 * How far submits may run ahead of that rate, in milliseconds: about 400 at once. With the submits that follow, no
 * minute holds 3,000.
 */
export const SUBMIT_BURST_MS = 10_000;

/** The time limit of a call to Workers AI: a run's interval, but between 10 s and a minute. */
export function callTimeout(runInterval: number): number {
  return Math.min(Math.max(runInterval, MINUTE / 6), MINUTE);
}

/** How long a started dispatch may take before it counts as interrupted: twice the time limit of its call. */
export function dispatchLease(runInterval: number): number {
  return 2 * callTimeout(runInterval);
}
/** A batch without an answer for this long is dispatched again. */
export const STUCK_AFTER_MINUTES = 60;

/** The next 00:00 UTC, when the daily allowance of neurons is renewed. */
export function nextMidnight(now: number): number {
  const day = 24 * 60 * MINUTE;
  return (Math.floor(now / day) + 1) * day;
}

/**
 * The due time of a job that a pause holds: never, until the pause ends. It is the maximum time of a JavaScript `Date`,
 * in milliseconds.
 */
export const NEVER_DUE = 8_640_000_000_000_000;
/**
 * The interval in milliseconds between jobs that a pause releases, in each lane: 3,000 per minute, as many as Workers
 * AI accepts.
 */
export const RELEASE_SPACING_MS = 20;

/**
 * How long a fault of the account or the model pauses the model. It needs a person to fix it, so one job tries again
 * after this.
 */
export const CONFIGURATION_PAUSE_MS = 15 * MINUTE;
