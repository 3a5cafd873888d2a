import { failureCodes, mintJobId, planJobs, weighDocument, type FailureCode } from "@sluice/core";
import { listFailed, retryFailed, type FailedDocument, type SubmissionRow } from "@sluice/db";
import * as z from "zod";
import type { Call, Dependencies } from "../dependencies.ts";
import { describeSubmission } from "../describe.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { oneOf, parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { findSubmission, noSubmission } from "./get-submission.ts";

export const retryQuery = z.strictObject({
  code: oneOf(failureCodes).describe("Only those that failed with it.").optional(),
});

/** Failed documents that are looked up at once. */
const WINDOW = 5_000;
/** Jobs that one request makes at most: keeps it inside 1,000 D1 queries. */
const MOST_JOBS = 60;

/**
 * Queues failed documents again, under the same version. What is left by a bound is for the next request.
 * Documents that the Queue lost have no row to queue again: the answer counts them.
 */
export async function retrySubmission(dependencies: Dependencies, call: Call): Promise<Response> {
  const query = parseQuery(retryQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const row = await findSubmission(dependencies, call);
  if (row === null) return noSubmission();
  if (row.cancelRequestedAt !== null) {
    return problemResponse({
      name: "conflict",
      detail: "The submission was canceled, and cannot be gone on with: push its documents again, as another push.",
    });
  }
  const queued = await retryAll(dependencies, row, query.value.code ?? null);
  const after = (await findSubmission(dependencies, call)) ?? row;
  return jsonResponse({ submission: await describeSubmission(dependencies, after), queued, lost: after.lost });
}

async function retryAll(io: Dependencies, row: SubmissionRow, code: FailureCode | null): Promise<number> {
  let queued = 0;
  let jobs = 0;
  // From the first again each time: what was queued is not failed any more.
  let after = "";
  while (jobs < MOST_JOBS) {
    const failed = await listFailed(io.db, row, code, after, WINDOW);
    for (const [root, documents] of Map.groupBy(failed, (one) => one.rootId)) {
      for (const job of planJobs(documents.map((one) => ({ ...one, weight: weighFailed(one) })))) {
        const now = io.now();
        const head = { id: mintJobId(now, io.random(10)), parent: root, model: row.model, lane: row.lane };
        queued += await retryFailed(
          io.db,
          head,
          row,
          job.map((one) => one.document),
          now,
        );
        jobs += 1;
      }
    }
    const last = failed.at(-1);
    if (failed.length < WINDOW || last === undefined) break;
    after = last.document;
  }
  return queued;
}

function weighFailed(one: FailedDocument) {
  const { document: id, contexts, payloadBytes, contextIdBytes } = one;
  return weighDocument({ id, contexts, payloadBytes, contextIdBytes });
}
