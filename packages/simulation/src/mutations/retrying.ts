import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Retries of failed documents, and their cancellation. */
export const RETRYING: readonly Mutation[] = [
  mutation(
    "retry-keeps-outcome",
    "a failed document that is queued again keeps its failure",
    "retryFailed",
    "CROSS JOIN ${jobDocuments} i WHERE ${isNext})`,",
    "CROSS JOIN ${jobDocuments} i WHERE false)`,",
  ),
  mutation(
    "retry-repeated-later",
    "a retry step repeated after a lost answer queues the failure of its own job",
    "retryFailed",
    "AND root_id = ${first.root} AND part = ${first.part})",
    "OR true)",
  ),
  mutation(
    "retry-not-continued",
    "the rest of a retry after its request is never queued",
    "continueRetries",
    "let left = MAX_STEPS;",
    "let left = 0;",
  ),
  withKind(
    "retrying",
    mutation(
      "retry-ends-early",
      "a retry lists only the parts of its first failed documents",
      "listRetryParts",
      "LIMIT 1 OFFSET ${limit - 1})",
      "LIMIT 1 OFFSET ${limit})",
    ),
  ),
  withKind(
    "retrying",
    mutation(
      "retry-of-another-time",
      "a late Worker continues a later retry of the same documents",
      "retryFailed",
      "${isInProgress(retry)} AND EXISTS (SELECT 1 FROM retry_parts",
      "EXISTS (SELECT 1 FROM retry_parts",
    ),
  ),
  withKind(
    "retrying",
    mutation(
      "retry-cuts-roots",
      "a retry that leaves a root to a later step counts it as done",
      "wholeRoots",
      "return whole.slice(0, end < 0 ? whole.length : end).flat();",
      "return roots.flat();",
    ),
  ),
  mutation(
    "retry-does-not-reopen",
    "a submission stays completed while failed documents are queued again",
    "retryFailed",
    "completed_at = iif(counted.count > 0, NULL, completed_at)",
    "completed_at = completed_at",
  ),
  withKind(
    "retrying",
    mutation(
      "cancel-ignores-retry",
      "a cancellation is ignored if all documents have ended, although a retry is about to queue some again",
      "cancelSubmission",
      "AND (completed_at IS NULL OR EXISTS (SELECT 1 FROM retries WHERE submission_id = ${id}))",
      "AND completed_at IS NULL",
    ),
  ),
  mutation(
    "cancel-after-end",
    "a submission is canceled after all its documents have ended",
    "cancelSubmission",
    "AND (completed_at IS NULL OR EXISTS",
    "AND (true OR EXISTS",
  ),
  mutation(
    "cancel-leaves-retry",
    "a retry of a canceled submission continues",
    "cancelSubmission",
    "sql`DELETE FROM retries WHERE submission_id = ${id} AND ${isCanceled}`,",
    "",
  ),
  mutation(
    "retry-beside-all",
    "a retry of one code continues beside a retry of all codes, and both count its documents",
    "requestRetry",
    "WHERE submission_id = ${submission} AND code <> ''",
    "WHERE submission_id = ''",
  ),
];
