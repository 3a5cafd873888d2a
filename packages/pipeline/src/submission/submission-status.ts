import type { SubmissionStatus } from "@sluice/core";
import type { SubmissionRow } from "./sql/read-submission.ts";

/** A submission's status. The view `submissions_progress` has the same rule in SQL. */
export function submissionStatus(row: SubmissionRow): SubmissionStatus {
  if (row.completedAt !== null) {
    if (row.cancelRequestedAt !== null) return "canceled";
    return row.isRetrying ? "processing" : "completed";
  }
  if (row.cancelRequestedAt !== null) return "canceling";
  if (row.closedAt === null) return "receiving";
  return row.recorded === 0 && row.lost === 0 ? "queued" : "processing";
}
