import { parseSubmissionId } from "@sluice/core";
import { readSubmission, type SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";

export const noQuery = z.strictObject({});

export async function getSubmission({ db, databaseTime }: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const row = await findSubmission({ db }, call);
  if (row === null) return noSubmission();
  return jsonResponse(await describeSubmission({ db, databaseTime }, row));
}

/** The submission that the path names, where the key may see it. */
export async function findSubmission(
  { db }: Pick<ApiContext, "db">,
  call: Pick<Call, "parameters" | "key">,
): Promise<SubmissionRow | null> {
  const id = parseSubmissionId(call.parameters["id"] ?? "");
  const row = id === null ? null : await readSubmission(db, id);
  return row !== null && allowsCollection(call.key, row.collection) ? row : null;
}

export function noSubmission(): Response {
  return problemResponse({ name: "not-found", detail: "There is no submission with this id." });
}
