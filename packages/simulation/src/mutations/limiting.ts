import { mutation, withKind, type Mutation } from "./mutation.ts";

const START = "packages/db/src/operations/start-attempt.ts";
const FINALIZE = "packages/db/src/operations/finalize-jobs.ts";
const LEFT = "packages/dispatch/src/has-batch-left.ts";

/** How many batches a document may be in. */
export const LIMITING: readonly Mutation[] = [
  mutation(
    "batch-not-counted",
    "an attempt starts without counting its batch",
    START,
    "batches = batches + (listed.count > 0),",
    "",
  ),
  mutation(
    "unclear-batch-taken-back",
    "a batch that may have been accepted is no longer counted",
    "packages/db/src/operations/postpone-job.ts",
    `batches = batches - \${counts.dispatch === "none" ? 1 : 0}`,
    `batches = batches - \${counts.dispatch === "repeated" ? 0 : 1}`,
  ),
  mutation(
    "refused-batch-counted",
    "a batch that the service refused uses up one of ten",
    "packages/db/src/operations/postpone-job.ts",
    `batches = batches - \${counts.dispatch === "none" ? 1 : 0}`,
    "batches = batches",
  ),
  mutation(
    "pieces-start-over",
    "the pieces and follow-ups of a job have ten batches of their own",
    FINALIZE,
    "batches - (entry ->> 6), halvings",
    "0, halvings",
  ),
  mutation(
    "kept-back-starts-over",
    "what a pause keeps back has ten batches of its own",
    "packages/db/src/operations/separate-submissions.ts",
    "'pending', id, round, refusals, batches,",
    "'pending', id, round, refusals, 0,",
  ),
  withKind(
    "unanswered",
    mutation(
      "no-limit-of-batches",
      "a job whose lease ran out is dispatched again however many batches its documents were in",
      LEFT,
      "if (job.batches < MAX_BATCHES - 1) return true;",
      "if (job.batches < 1e9) return true;",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "last-batch-shared",
      "a bad document has its last batch together with good ones",
      LEFT,
      "if (!isUsedUp && !(await isPieceOfInvalid(io.db, job.id))) return true;",
      "if (!isUsedUp) return true;",
    ),
  ),
];
