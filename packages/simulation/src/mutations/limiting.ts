import { mutation, withKind, type Mutation } from "./mutation.ts";

/** How many batches a document may be in. */
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
    "a batch that the service refused uses up one of ten",
    "postponeJob",
    `batches = batches - \${counts.dispatch === "none" ? 1 : 0}`,
    "batches = batches",
  ),
  mutation(
    "pieces-start-over",
    "the pieces and follow-ups of a job have ten batches of their own",
    "insertChildren",
    'batches - (${entry("refused")}), halvings',
    "0, halvings",
  ),
  withKind(
    "sharing",
    mutation(
      "kept-back-starts-over",
      "what a pause keeps back has ten batches of its own",
      "separateSubmissions",
      "'pending', id, round, refusals, batches,",
      "'pending', id, round, refusals, 0,",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "no-limit-of-batches",
      "a job whose lease ran out is dispatched again however many batches its documents were in",
      "limitBatches",
      "if (job.batches < MAX_BATCHES - 1) return true;",
      "if (job.batches < 1e9) return true;",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "last-batch-shared",
      "a bad document has its last batch together with good ones",
      "limitBatches",
      "if (!isUsedUp && !(await isPieceOfInvalid(context.db, job.id))) return true;",
      "if (!isUsedUp) return true;",
    ),
  ),
  withKind(
    "load",
    mutation(
      "submit-rate-ignored",
      "dispatches start however many batches were submitted within a minute",
      "startDispatch",
      "const held = sql`${heldBy(job)} AND ${isWithinRate(now)}`;",
      "const held = heldBy(job);",
    ),
  ),
  withKind(
    "load",
    mutation(
      "submit-rate-not-reserved",
      "a dispatch takes no place in the rate of submits",
      "startDispatch",
      "WHERE ${started} AND status = 'dispatching'",
      "WHERE ${started} AND status = ''",
    ),
  ),
  mutation(
    "over-rate-forgotten",
    "a job that is over the rate of submits is never due again",
    "deferredBy",
    "dueAt: sql`max(${now}, coalesce((${nextAt}), 0))`",
    "dueAt: sql`max(${now} + 1e14, coalesce((${nextAt}), 0))`",
  ),
  withKind(
    "unanswered",
    mutation(
      "halved-in-outage",
      "a job whose submits time out is halved though no other gets through",
      "timesOutWhileOthersDoNot",
      "AND other.dispatched_at >= j.dispatched_at",
      "",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "halved-at-once",
      "a job is halved at its first time-out",
      "timesOutWhileOthersDoNot",
      "AND (j.halvings > 0 OR (j.refusals > 0 AND j.unconfirmed_dispatches > 0))",
      "",
    ),
  ),
  withKind(
    "unanswered",
    mutation(
      "halving-not-counted",
      "a job that times out is halved without end",
      "settleRefusal",
      'halvings: decision.kind === "halve" ? 1 : 0',
      "halvings: 0",
    ),
  ),
  mutation(
    "poll-keeps-memory",
    "a poll that finds its batch in progress holds memory after its run",
    "pollJobs",
    "if (!isHeld) release();",
    "if (isHeld) release();",
  ),
];
