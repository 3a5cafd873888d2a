import { err, ok, parseSubmissionId, type Result } from "@sluice/core";
import { readSubmission, type SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { ApiContext, Reader } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import type { SubmissionShape } from "../shapes/submission.ts";

export interface SubmissionKey {
  readonly key: ApiKey;
  readonly id: string;
}

export async function getSubmission(context: Reader, input: SubmissionKey): Promise<Result<SubmissionShape, Problem>> {
  const found = await findSubmission(context, input);
  return found.ok ? ok(await describeSubmission(context, found.value)) : found;
}

/** The submission with an id, if the key may see it. */
export async function findSubmission(
  { db }: Pick<ApiContext, "db">,
  { key, id: text }: SubmissionKey,
): Promise<Result<SubmissionRow, Problem>> {
  const id = parseSubmissionId(text);
  const row = id === null ? null : await readSubmission(db, id);
  if (row !== null && allowsCollection(key, row.collection)) return ok(row);
  return err({ name: "not-found", detail: "No submission has this id." });
}
