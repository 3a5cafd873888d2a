import { cancelSubmission as cancel } from "@sluice/pipeline/submission/sql/cancel-submission.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { Call, ApiContext, Reader } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import type { SubmissionShape } from "../shapes/submission.ts";
import { findSubmission, noQuery, noSubmission } from "./get-submission.ts";

/** Cancels what is not dispatched yet, and ends a retry. Repeated, or after the end without a retry, it changes nothing. */
export async function cancelSubmission(dependencies: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const row = await findSubmission(dependencies, call);
  return row === null ? noSubmission() : jsonResponse(await cancelAndDescribe(dependencies, call, row));
}

export async function cancelAndDescribe(
  dependencies: Reader,
  call: Pick<Call, "parameters" | "key">,
  row: SubmissionRow,
): Promise<SubmissionShape> {
  await cancel(dependencies.db, row.id, dependencies.databaseTime());
  return describeSubmission(dependencies, (await findSubmission(dependencies, call)) ?? row);
}
