export * from "./clock.ts";
export * from "./continue-retry.ts";
export * from "./database.ts";
export * from "./describe-error.ts";
export * from "./part-to-record.ts";
export { D1Timeout, isPassing, type Patience } from "./patience.ts";
export * from "./schema.ts";
export * from "./schema-upkeep.ts";
export * as views from "./views.ts";
export * from "./queries.ts";
export {
  claimDueJobs,
  type ClaimedJob,
  type ClaimLimits,
  type DispatchedJob,
  type WaitingJob,
} from "./operations/claim-due-jobs.ts";
export * from "./operations/chain.ts";
export * from "./operations/claim-reported-jobs.ts";
export * from "./operations/close-submission.ts";
export * from "./operations/confirm-dispatch.ts";
export * from "./operations/finalize-jobs.ts";
export * from "./operations/find-missing-tables.ts";
export * from "./operations/keep-malformed-message.ts";
export * from "./operations/look-up-parts.ts";
export * from "./operations/read-malformed-messages.ts";
export * from "./operations/release-malformed-message.ts";
export * from "./operations/merge-jobs.ts";
export * from "./operations/open-submission.ts";
export * from "./operations/postpone-job.ts";
export * from "./operations/raise-total.ts";
export * from "./operations/read-document.ts";
export * from "./operations/is-piece-of-invalid.ts";
export * from "./operations/read-holding-jobs.ts";
export * from "./operations/read-job-documents.ts";
export * from "./operations/read-submission.ts";
export * from "./operations/read-unfinished.ts";
export * from "./operations/record-parts.ts";
export * from "./operations/release-jobs.ts";
export * from "./operations/stage-parts.ts";
export * from "./operations/times-out-while-others-do-not.ts";
export * from "./operations/start-attempt.ts";
export * from "./operations/pause-dispatching.ts";
export * from "./operations/cancel-submission.ts";
export * from "./operations/delete-document.ts";
export { endQueue, type LostWithQueue } from "./operations/end-queue.ts";
export {
  listRetries,
  readRetryProgress,
  requestRetry,
  type RetryKey,
  type RetryProgress,
} from "./operations/request-retry.ts";
export * from "./operations/sweep-submissions.ts";
export * from "./operations/read-idempotency-key.ts";
export * from "./operations/take-over-push.ts";
export * from "./operations/separate-submissions.ts";
export * from "./operations/read-waiting-jobs.ts";
export * from "./operations/read-jobs.ts";
export * from "./operations/read-feed.ts";
export * from "./operations/read-totals.ts";
export * from "./operations/heartbeat.ts";
export { foldTotals } from "./operations/fold-totals.ts";
