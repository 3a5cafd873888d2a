import type { Replacement } from "./run/patches.ts";

/** Refusals in a row after which a job is given up, in the simulation: the product's hundred take a day. */
export const MAX_REFUSALS = 12;
/** Batches of a job that bring no answer, after which it is given up; ten in the product. */
export const MAX_REPEATS = 6;

const limit = (name: string, now: string, small: number): Replacement => ({
  file: "packages/core/src/limits.ts",
  find: `export const ${name} = ${now};`,
  replace: `export const ${name} = ${small};`,
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
  limit("MAX_PARAMETER_BYTES", "1_900_000", 1_800),
  limit("MAX_TRANSACTION_BYTES", "5_000_000", 2_500),
  limit("MAX_SHARED_TEXT_BYTES", "128_000", 1_000),
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
  {
    file: "packages/dispatch/src/after-refusal.ts",
    find: "export const MAX_REPEATS = 10;",
    replace: `export const MAX_REPEATS = ${MAX_REPEATS};`,
  },
  {
    file: "packages/db/src/continue-retry.ts",
    find: "const MAX_LISTED = 10_000;",
    replace: "const MAX_LISTED = 3;",
  },
  {
    file: "packages/db/src/continue-retry.ts",
    find: "const MAX_PARTS = 1_000;\nconst MAX_DOCUMENTS = 5_000;",
    replace: "const MAX_PARTS = 5;\nconst MAX_DOCUMENTS = 4;",
  },
  {
    file: "workers/producer/src/handlers/retry-submission.ts",
    find: "const MAX_STEPS = 3;",
    replace: "const MAX_STEPS = 2;",
  },
  {
    file: "workers/poller/src/continue-retries.ts",
    find: "const MAX_STEPS = 15;",
    replace: "const MAX_STEPS = 3;",
  },
  {
    file: "workers/poller/src/run-poller.ts",
    find: "const MAX_CLAIM = 30;",
    replace: "const MAX_CLAIM = 6;",
  },
  {
    file: "workers/poller/src/run-poller.ts",
    find: "MAX_POLLS_PER_RUN = 300;",
    replace: "MAX_POLLS_PER_RUN = 24;",
  },
  {
    file: "workers/poller/src/run-poller.ts",
    find: "MAX_STEPS_PER_RUN = 60;",
    replace: "MAX_STEPS_PER_RUN = 12;",
  },
];
