import type { Replacement } from "./run/patches.ts";

/** Consecutive refusals after which a job is given up in the simulation. The product allows 100, which take a day. */
export const MAX_REFUSALS = 12;
/** Maximum batches per document; 10 in the product. */
export const MAX_BATCHES = 6;

/** Interval between submits, and how far they may run ahead: at most 35 a minute, 2,900 in the product. */
export const SUBMIT_SPACING_MS = 1_250;
export const SUBMIT_BURST_MS = 10_000;

/** Maximum documents that one step of a retry queues, unless one job holds more; 5,000 in the product. */
export const MAX_RETRIED_DOCUMENTS = 4;

/** Maximum D1 statements per poller invocation in the simulation; D1's limit is 1,000. */
export const MAX_POLLER_STATEMENTS = 500;

/** Replaces a constant of the product: its value there, its value here, and the number of files that declare it. */
const limit = (name: string, now: string, small: number, times = 1): Replacement => ({
  in: name,
  find: `${name} = ${now};`,
  replace: `${name} = ${small};`,
  times,
});

/**
 * Small limits: a push of 30 documents has several parts, some staged, sent in several calls, and a delivery becomes
 * several jobs, some recorded in several transactions.
 */
export const SMALL_LIMITS: readonly Replacement[] = [
  limit("MAX_PART_BYTES", "127_700", 1_500),
  limit("MAX_SEND_BYTES", "255_800", 3_600),
  limit("MAX_PART_DOCUMENTS", "500", 5),
  limit("MAX_JOB_BYTES", "9_500_000", 9_000),
  limit("MAX_JOB_DOCUMENTS", "10_000", 16),
  limit("MAX_BATCHES", "10", MAX_BATCHES),
  limit("MAX_PARAMETER_BYTES", "1_900_000", 1_800),
  limit("MAX_TRANSACTION_BYTES", "5_000_000", 2_500),
  limit("MAX_SHARED_TEXT_BYTES", "128_000", 1_000),
  limit("SUBMIT_SPACING_MS", "24", SUBMIT_SPACING_MS),
  limit("SUBMIT_BURST_MS", "10_000", SUBMIT_BURST_MS),
  limit("PART_BYTES", "1_000", 300),
  limit("MAX_REFUSALS", "100", MAX_REFUSALS),
  limit("MAX_CLAIMED_POLLS", "300", 6),
  limit("MAX_CLAIMED_DISPATCHES", "1_000", 42),
  limit("MAX_STATEMENTS", "1_000", MAX_POLLER_STATEMENTS),
  limit("WAVE", "6", 2),
  limit("MAX_SET_JOBS", "64", 3),
  // Small pages and windows, so that the loops over results, the feed and the newest versions run.
  limit("WINDOW", "1_000", 7),
  limit("JOB_WINDOW", "200", 3),
  limit("WINDOW", "500", 3),
  limit("MAX_WINDOWS", "10", 2, 2),
  limit("MAX_WINDOWS", "4", 2),
  limit("ROLL_UP_SIZE", "5_000", 2),
  limit("SWEEP_SIZE", "5_000", 2),
  limit("MAX_HELD", "5_000", 2),
  limit("MAX_TEXTS", "90", 2),
  limit("STAGED_AT_ONCE", "9", 3),
  // Retries: entries listed and documents queued per step, steps per request and steps per poller run.
  limit("MAX_LISTED", "10_000", 3),
  limit("MAX_PARTS", "1_000", 5),
  limit("MAX_DOCUMENTS", "5_000", MAX_RETRIED_DOCUMENTS),
  limit("MAX_STEPS", "3", 2),
  limit("MAX_STEPS", "15", 3),
  limit("MAX_RETRIES", "20", 3),
  // Deletions: what a step looks at and deletes, steps per request and per poller run, versions counted.
  limit("WINDOW", "5_000", 2, 2),
  limit("MAX_LISTED_PARTS", "1_000", 3),
  limit("MAX_LISTED_VERSIONS", "3_000", 4),
  limit("MAX_DELETED_DOCUMENTS", "3_000", 6),
  limit("MAX_DELETED_ROWS", "40", 2),
  limit("REQUEST_STEPS", "4", 2),
  limit("MAX_DELETION_STEPS", "15", 3),
  limit("MAX_COUNTED_VERSIONS", "5_000", 9),
];
