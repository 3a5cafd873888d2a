/** Times in milliseconds. */
const MINUTE = 60_000;

/** A dispatched job is first due after at most this: small batches are often done by then. */
const FIRST_POLL_MS = 10_000;

/** When a job is polled first that was dispatched at `now`. Sooner where runs follow each other faster than once a minute. */
export function firstPollAt(now: number, runInterval: number): number {
  return now + Math.round(Math.min(FIRST_POLL_MS, runInterval / 6));
}

/** How long a job waits for its next poll whose batch is in progress, in milliseconds. */
export interface PollWaits {
  /** Half a run: a run that starts early finds the job, and one that overlaps this finds it taken. */
  readonly waitMs: number;
  /** From this age on it waits a tenth of its age, where that is longer. */
  readonly eagerMs: number;
}

/** A job is due at every run until it is this many runs old. */
const EAGER_RUNS = 10;

export function pollWaits(runInterval: number): PollWaits {
  return { waitMs: Math.round(runInterval / 2), eagerMs: EAGER_RUNS * runInterval };
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

/** Longest wait between two batches of a job that may have been accepted, and brought no answer. */
const MAX_BATCH_BACKOFF_MS = 6 * 60 * MINUTE;

/**
 * When to dispatch again after `batches` batches that may have been accepted: four times as long after each, from
 * half a run, with up to a quarter as much again at random. Each may have to be paid and there is a limit to them,
 * so that ten span more than a day: an outage of a day fails no document. `random` is in [0, 1).
 */
export function nextBatchAt(now: number, batches: number, runInterval: number, random: number): number {
  const base = Math.min((runInterval / 2) * 4 ** Math.min(batches - 1, 10), MAX_BATCH_BACKOFF_MS);
  return now + Math.round(base * (1 + random / 4));
}

/** Workers AI takes 3,000 requests a minute of an embedding model, as published. */
export const MAX_SUBMITS_PER_MINUTE = 3_000;
/** Submits of a model follow one another at this distance on average: 2,500 a minute. */
export const SUBMIT_SPACING_MS = 24;
/** How far they may run ahead of that: some 400 at once. With what follows, no minute holds 3,000. */
export const SUBMIT_BURST_MS = 10_000;

/** How long a call to Workers AI may take: as long as a run's interval, between 10 s and a minute. */
export function callTimeout(runInterval: number): number {
  return Math.min(Math.max(runInterval, MINUTE / 6), MINUTE);
}

/** How long a started dispatch may take before it counts as broken off: twice as long as its call may. */
export function dispatchLease(runInterval: number): number {
  return 2 * callTimeout(runInterval);
}
/** A batch without an answer for this long is dispatched again. */
export const STUCK_AFTER_MINUTES = 60;

/** The next 00:00 UTC: when the daily allowance of neurons is new. */
export function nextMidnight(now: number): number {
  const day = 24 * 60 * MINUTE;
  return (Math.floor(now / day) + 1) * day;
}

/**
 * When a job is due that a pause holds back: at no time, until the pause ends. The greatest time that a
 * JavaScript `Date` holds, in milliseconds.
 */
export const NEVER_DUE = 8_640_000_000_000_000;
/** Jobs that a pause releases follow each other at this distance in each lane: 3,000 a minute, as many as Workers AI takes. */
export const RELEASE_SPACING_MS = 20;

/** A fault of the account or the model does not mend itself: one job looks again after this long. */
export const CONFIGURATION_PAUSE_MS = 15 * MINUTE;
/** A closed submission short of recorded documents for this long is stalled. */
export const STALLED_AFTER_MS = 10 * MINUTE;
/**
 * Submissions are added to the sums that stats read after this long. Most have ended by then: one that
 * has not costs two rows more.
 */
export const ROLL_UP_AFTER_MS = 30 * MINUTE;
/** A staged part that is not recorded after this many runs of the poller has lost its message. */
const STAGED_RUNS = 10;
/** Runs of the poller from one search for what needs looking after to the next. */
const SWEEP_RUNS = 5;

/** Milliseconds after which the poller records a staged part that no message has brought. */
export function stagedAfter(runInterval: number): number {
  return STAGED_RUNS * runInterval;
}

/** An open submission without activity for this long is abandoned, and closed with what it sent. */
export const ABANDONED_AFTER_MS = 60 * MINUTE;
/** A push without activity for this long broke off: the same `Idempotency-Key` may take it over. */
export const PUSH_ALIVE_MS = MINUTE;
/** A time this far ahead of now comes from a clock that was wrong: it says nothing about the age of anything. */
export const WRONG_CLOCK_MS = 60 * MINUTE;
/** How long an `Idempotency-Key` is known. */
export const IDEMPOTENCY_KEY_LIFE_MS = 24 * 60 * MINUTE;
/**
 * The longest that a message can live: 4 days of retention in its queue, 4 more in the dead-letter
 * queue (Cloudflare's defaults), and half a day to be sure.
 */
export const MESSAGE_LIFE_MS = 8.5 * 24 * 60 * MINUTE;
/**
 * Whether this run of the poller is the first of a sweep's interval: every five minutes, with a run a
 * minute. A missed one only comes later.
 */
export function isSweepDue(now: number, runInterval: number): boolean {
  const interval = SWEEP_RUNS * runInterval;
  return Math.floor(now / interval) !== Math.floor((now - runInterval) / interval);
}
