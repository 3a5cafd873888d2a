import type { Replacement } from "./run/patches.ts";

/** Refusals in a row after which a job is given up, in the simulation: the product's hundred take a day. */
export const MAX_REFUSALS = 12;
/** Batches that a document may be in; ten in the product. */
export const MAX_BATCHES = 6;

/** Distance of submits and how far they may run ahead: 35 a minute at most, where the product makes 2,900. */
export const SUBMIT_SPACING_MS = 2_000;
export const SUBMIT_BURST_MS = 10_000;

const limit = (name: string, now: string, small: number): Replacement => ({
  file: "packages/core/src/limits.ts",
  find: `export const ${name} = ${now};`,
  replace: `export const ${name} = ${small};`,
});

const poller = (file: string, find: string, replace: string): Replacement => ({
  file: `workers/poller/src/${file}`,
  find,
  replace,
});

/**
 * Limits made small, so that a push of thirty documents has several parts, some of them staged, in
 * several calls, and a delivery becomes several jobs, some recorded in several transactions.
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
  {
    file: "packages/core/src/schedule.ts",
    find: "SUBMIT_SPACING_MS = 24;",
    replace: `SUBMIT_SPACING_MS = ${SUBMIT_SPACING_MS};`,
  },
  {
    file: "packages/core/src/schedule.ts",
    find: "SUBMIT_BURST_MS = 10_000;",
    replace: `SUBMIT_BURST_MS = ${SUBMIT_BURST_MS};`,
  },
  {
    file: "packages/dispatch/src/chunk-parts.ts",
    find: "const PART_BYTES = 1_000;",
    replace: "const PART_BYTES = 300;",
  },
  {
    file: "packages/dispatch/src/after-refusal.ts",
    find: "export const MAX_REFUSALS = 100;",
    replace: `export const MAX_REFUSALS = ${MAX_REFUSALS};`,
  },
  poller("run-poller.ts", "const MAX_CLAIMED_POLLS = 300;", "const MAX_CLAIMED_POLLS = 6;"),
  poller("run-poller.ts", "const MAX_CLAIMED_DISPATCHES = 1_000;", "const MAX_CLAIMED_DISPATCHES = 42;"),
  poller("share.ts", "const MAX_STATEMENTS = 1_000;", "const MAX_STATEMENTS = 400;"),
  poller("poll-queue.ts", "const WAVE = 6;", "const WAVE = 2;"),
  poller("poll-jobs.ts", "const MAX_SET_JOBS = 64;", "const MAX_SET_JOBS = 3;"),
];
