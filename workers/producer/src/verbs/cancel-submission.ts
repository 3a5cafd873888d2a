import { ok, type Result } from "@sluice/core";
import { cancelSubmission as cancel } from "@sluice/pipeline/submission/sql/cancel-submission.ts";
import type { Reader } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import type { Problem } from "../http/problems.ts";
import type { SubmissionShape } from "../shapes/submission.ts";
import { findSubmission, type SubmissionKey } from "./get-submission.ts";

/** Cancels what is not dispatched yet, and ends a retry. A second cancel, or one after the end, changes nothing. */
export async function cancelSubmission(
  context: Reader,
  input: SubmissionKey,
): Promise<Result<SubmissionShape, Problem>> {
  const found = await findSubmission(context, input);
  if (!found.ok) return found;
  await cancel(context.db, found.value.id, context.databaseTime());
  const after = await findSubmission(context, input);
  return ok(await describeSubmission(context, after.ok ? after.value : found.value));
}
