import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Limits of batches per document, of submits and of memory. */
export const LIMITING: readonly Mutation[] = [
  mutation(
    "batch-not-counted",
    "a dispatch starts without counting its batch",
    "startDispatch",
    "batches = batches + (listed.count > 0),",
    "",
  ),
  mutation(
    "unclear-batch-taken-back",
    "a batch that may have been accepted is no longer counted",
    "postponeJob",
    `batches = batches - \${counts.dispatch === "none" ? 1 : 0}`,
    `batches = batches - \${counts.dispatch === "repeated" ? 0 : 1}`,
  ),
  mutation(
    "refused-batch-counted",
    "a batch that the service refused counts toward the limit of ten",
    "postponeJob",
    `batches = batches - \${counts.dispatch === "none" ? 1 : 0}`,
    "batches = batches",
  ),
  mutation(
    "pieces-start-over",
    "the pieces and follow-ups of a job get ten more batches",
    "insertChildren",
    'batches - (${entry("refused")}), halvings',
    "0, halvings",
  ),
  withKind(
    "sharing",
    mutation(
      "kept-back-starts-over",
      "documents that a pause holds back get ten more batches",
      "separateSubmissions",
      "'pending', id, round, refusals, batches,",
      "'pending', id, round, refusals, 0,",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "no-limit-of-batches",
      "a job whose lease expired is dispatched again without a limit on batches",
      "limitBatches",
      "if (job.batches < MAX_BATCHES - 1) return true;",
      "if (job.batches < 1e9) return true;",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "last-batch-shared",
      "an invalid document shares its last batch with valid ones",
      "limitBatches",
      "if (!isUsedUp && !(await isPieceOfInvalid(context.db, job.id))) return true;",
      "if (!isUsedUp) return true;",
    ),
  ),
  withKind(
    "load",
    mutation(
      "submit-rate-ignored",
      "dispatches ignore the submit rate",
      "startDispatch",
      "const held = sql`${heldBy(job)} AND ${isWithinRate(now)}`;",
      "const held = heldBy(job);",
    ),
  ),
  withKind(
    "load",
    mutation(
      "submit-rate-not-reserved",
      "a dispatch does not count toward the submit rate",
      "startDispatch",
      "WHERE ${started} AND status = 'dispatching'",
      "WHERE ${started} AND status = ''",
    ),
  ),
  mutation(
    "over-rate-forgotten",
    "a job delayed by the submit rate is never due again",
    "deferredBy",
    "dueAt: sql`max(${now}, coalesce((${nextAt}), 0))`",
    "dueAt: sql`max(${now} + 1e14, coalesce((${nextAt}), 0))`",
  ),
  withKind(
    "unanswered",
    mutation(
      "halved-in-outage",
      "a job whose submits time out is halved although no other job succeeds",
      "timesOutWhileOthersDoNot",
      "AND other.dispatched_at >= j.dispatched_at",
      "",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "halved-at-once",
      "a job is halved at its first timeout",
      "timesOutWhileOthersDoNot",
      "AND (j.halvings > 0 OR (j.refusals > 0 AND j.unconfirmed_dispatches > 0))",
      "",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "halving-not-counted",
      "a job that times out is halved without limit",
      "settleRefusal",
      'halvings: decision.kind === "halve" ? 1 : 0',
      "halvings: 0",
    ),
  ),
  mutation(
    "poll-keeps-memory",
    "a poll that finds its batch in progress keeps memory after its run",
    "pollJobs",
    "if (!isHeld) release();",
    "if (isHeld) release();",
  ),
];
