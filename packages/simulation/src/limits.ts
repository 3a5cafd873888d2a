import type { Replacement } from "./run/patches.ts";

/** Refusals in a row after which a job is given up, in the simulation: the product's hundred take a day. */
export const MAX_REFUSALS = 12;
/** Batches that a document may be in; ten in the product. */
export const MAX_BATCHES = 6;

/** Distance of submits and how far they may run ahead: 35 a minute at most, where the product makes 2,900. */
export const SUBMIT_SPACING_MS = 1_250;
export const SUBMIT_BURST_MS = 10_000;

const limit = (name: string, now: string, small: number): Replacement => ({
  file: "packages/core/src/limits.ts",
  find: `export const ${name} = ${now};`,
  replace: `export const ${name} = ${small};`,
});

const constant = (file: string, name: string, now: string, small: number): Replacement => ({
  file,
  find: `const ${name} = ${now};`,
  replace: `const ${name} = ${small};`,
});

/** D1 statements of a poller's invocation, in the simulation; D1's own limit is 1,000. */
export const MAX_POLLER_STATEMENTS = 500;

const poller = (file: string, find: string, replace: string): Replacement => ({
  file: `packages/pipeline/src/${file}`,
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
    file: "packages/pipeline/src/job/schedule.ts",
    find: "SUBMIT_SPACING_MS = 24;",
    replace: `SUBMIT_SPACING_MS = ${SUBMIT_SPACING_MS};`,
  },
  {
    file: "packages/pipeline/src/job/schedule.ts",
    find: "SUBMIT_BURST_MS = 10_000;",
    replace: `SUBMIT_BURST_MS = ${SUBMIT_BURST_MS};`,
  },
  {
    file: "packages/pipeline/src/message/sql/plan-transactions.ts",
    find: "const PART_BYTES = 1_000;",
    replace: "const PART_BYTES = 300;",
  },
  {
    file: "packages/pipeline/src/job/after-refusal.ts",
    find: "export const MAX_REFUSALS = 100;",
    replace: `export const MAX_REFUSALS = ${MAX_REFUSALS};`,
  },
  poller("job/run-poller.ts", "const MAX_CLAIMED_POLLS = 300;", "const MAX_CLAIMED_POLLS = 6;"),
  poller("job/run-poller.ts", "const MAX_CLAIMED_DISPATCHES = 1_000;", "const MAX_CLAIMED_DISPATCHES = 42;"),
  poller("job/share.ts", "const MAX_STATEMENTS = 1_000;", `const MAX_STATEMENTS = ${MAX_POLLER_STATEMENTS};`),
  poller("job/poll-queue.ts", "const WAVE = 6;", "const WAVE = 2;"),
  poller("job/poll-jobs.ts", "const MAX_SET_JOBS = 64;", "const MAX_SET_JOBS = 3;"),
  // Pages and windows, so that their loops run.
  constant("workers/producer/src/results.ts", "WINDOW", "1_000", 7),
  constant("workers/producer/src/results.ts", "MAX_WINDOWS", "10", 2),
  constant("workers/producer/src/feed.ts", "JOB_WINDOW", "200", 3),
  constant("workers/producer/src/feed.ts", "MAX_WINDOWS", "10", 2),
  constant("workers/producer/src/scan-newest.ts", "WINDOW", "500", 3),
  constant("workers/producer/src/scan-newest.ts", "MAX_WINDOWS", "4", 2),
  constant("packages/pipeline/src/submission/sql/roll-up-totals.ts", "ROLL_UP_SIZE", "5_000", 2),
  constant("packages/pipeline/src/submission/sql/sweep-submissions.ts", "SWEEP_SIZE", "5_000", 2),
  constant("packages/pipeline/src/job/sql/pause-dispatching.ts", "MAX_HELD", "5_000", 2),
  constant("packages/pipeline/src/message/sql/record-parts.ts", "MAX_TEXTS", "90", 2),
  constant("packages/pipeline/src/message/fetch-staged.ts", "STAGED_AT_ONCE", "9", 3),
  {
    file: "packages/pipeline/src/submission/continue-retry.ts",
    find: "const MAX_LISTED = 10_000;",
    replace: "const MAX_LISTED = 3;",
  },
  {
    file: "packages/pipeline/src/submission/continue-retry.ts",
    find: "const MAX_PARTS = 1_000;\nconst MAX_DOCUMENTS = 5_000;",
    replace: "const MAX_PARTS = 5;\nconst MAX_DOCUMENTS = 4;",
  },
  {
    file: "workers/producer/src/handlers/retry-submission.ts",
    find: "const MAX_STEPS = 3;",
    replace: "const MAX_STEPS = 2;",
  },
  poller("submission/continue-retries.ts", "const MAX_STEPS = 15;", "const MAX_STEPS = 3;"),
  poller("submission/continue-retries.ts", "const MAX_RETRIES = 20;", "const MAX_RETRIES = 3;"),
];
