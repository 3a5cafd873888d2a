import type { SubmissionId } from "@sluice/core";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { PushOptions } from "../push/options.ts";

/** A submission right after its push, all sent and nothing recorded, without reading it back. */
export function newSubmissionRow(
  options: PushOptions,
  sent: { readonly id: SubmissionId; readonly createdAt: number; readonly total: number },
): SubmissionRow {
  return {
    ...options,
    id: sent.id,
    total: sent.total,
    recorded: 0,
    succeeded: 0,
    failed: 0,
    canceled: 0,
    lost: 0,
    forgotten: 0,
    incomplete: false,
    jobs: 0,
    tokens: 0,
    unconfirmedDispatches: 0,
    createdAt: sent.createdAt,
    activeAt: sent.createdAt,
    closedAt: sent.createdAt,
    cancelRequestedAt: null,
    completedAt: null,
    holder: null,
    openedBy: null,
    isRetrying: false,
  };
}
