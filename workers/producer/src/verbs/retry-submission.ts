import { err, failureCodes, ok, uuidTail, type Result } from "@sluice/core";
import { continueRetry } from "@sluice/pipeline/submission/continue-retry.ts";
import { countExpiredFailures, requestRetry } from "@sluice/pipeline/submission/sql/request-retry.ts";
import * as z from "zod";
import { readNow, type ApiContext } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import type { Problem } from "../http/problems.ts";
import { oneOf } from "../http/query.ts";
import type { SubmissionShape } from "../shapes/submission.ts";
import { findSubmission, type SubmissionKey } from "./get-submission.ts";

export const retryQuery = z.strictObject({
  code: oneOf(failureCodes).describe("Only documents that failed with this code.").optional(),
});

export interface RetriedSubmission {
  readonly submission: SubmissionShape;
  readonly queued: number;
  readonly lost: number;
  /** Failed documents that are not stored any more, or whose texts are not. */
  readonly expired: number;
}

/** Steps of a retry that a request takes: fewer than 50 statements with those around them. The poller takes the others. */
const MAX_STEPS = 3;

/**
 * Queues failed documents again under the same version: some thousand at once, and the poller queues the rest. Requested
 * again meanwhile, the same retry continues. Documents that the Queue lost have no row to queue again; `lost` counts them.
 * Nor can those that retention deleted, or whose texts it deleted in a full database; `expired` counts them.
 */
export async function retrySubmission(
  context: ApiContext,
  { query, ...input }: SubmissionKey & { readonly query: z.output<typeof retryQuery> },
): Promise<Result<RetriedSubmission, Problem>> {
  const found = await findSubmission(context, input);
  if (!found.ok) return found;
  const row = found.value;
  if (row.cancelRequestedAt !== null) {
    return err({
      name: "conflict",
      detail: "The submission was canceled and cannot be retried. Push its documents again.",
    });
  }
  const token = uuidTail(context.random(10));
  const now = await readNow(context);
  const step = { db: context.db, now: () => now, randomBytes: context.random };
  const retry = await requestRetry(context.db, { submission: row.id, code: query.code ?? "", token }, now);
  const { queued } = retry === null ? { queued: 0 } : await continueRetry(step, retry, MAX_STEPS);
  const again = await findSubmission(context, input);
  const after = again.ok ? again.value : row;
  const withoutTexts = await countExpiredFailures(context.db, { submission: row.id, code: query.code ?? "" });
  const submission = await describeSubmission(context, after);
  // A deleted document's code is not known any more, and during a retry the two counts belong to different moments.
  const deleted = query.code === undefined && submission.retry === null ? countDeletedFailures(submission) : 0;
  return ok({ submission, queued, lost: after.lost, expired: withoutTexts + deleted });
}

/** Failed documents that are counted, but not stored any more. */
function countDeletedFailures({ counts, failures }: SubmissionShape): number {
  const stored = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return Math.max(0, counts.failed - stored);
}
