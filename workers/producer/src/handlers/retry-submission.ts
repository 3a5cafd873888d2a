import { failureCodes, uuidTail } from "@sluice/core";
import { continueRetry } from "@sluice/pipeline/submission/continue-retry.ts";
import { requestRetry } from "@sluice/pipeline/submission/sql/request-retry.ts";
import * as z from "zod";
import { readNow, type Call, type ApiContext } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { oneOf, parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { findSubmission, noSubmission } from "./get-submission.ts";

export const retryQuery = z.strictObject({
  code: oneOf(failureCodes).describe("Only those that failed with it.").optional(),
});

/** Steps of a retry that a request takes: with what goes around them, fewer than 50 statements. The poller takes the others. */
const MAX_STEPS = 3;

/**
 * Queues failed documents again, under the same version: some thousand at once, and the poller the others. Asked
 * again meanwhile, it goes on with the same retry. Documents that the Queue lost have no row to queue again: the
 * answer counts them.
 */
export async function retrySubmission(dependencies: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(retryQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const row = await findSubmission(dependencies, call);
  if (row === null) return noSubmission();
  if (row.cancelRequestedAt !== null) {
    return problemResponse({
      name: "conflict",
      detail: "The submission was canceled and cannot be retried. Push its documents again as another push.",
    });
  }
  const token = uuidTail(dependencies.random(10));
  const now = await readNow(dependencies);
  const io = { db: dependencies.db, now: () => now, randomBytes: dependencies.random };
  const retry = await requestRetry(io.db, { submission: row.id, code: query.value.code ?? "", token }, now);
  const { queued } = retry === null ? { queued: 0 } : await continueRetry(io, retry, MAX_STEPS);
  const after = (await findSubmission(dependencies, call)) ?? row;
  return jsonResponse({ submission: await describeSubmission(dependencies, after), queued, lost: after.lost });
}
