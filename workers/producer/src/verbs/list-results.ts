import { documentIdFlaw, documentStatuses, err, ok, type Result } from "@sluice/core";
import { findPosition, type ResultPosition } from "@sluice/pipeline/document/sql/read-document.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import * as z from "zod";
import type { Reader } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { DEFAULT_LIMIT, cursorParameter, limitParameter, oneOf, viewParameters } from "../http/query.ts";
import { readResultsPage, type ResultsQuery } from "../results.ts";
import type { Page } from "../shapes/page.ts";
import { findSubmission, type SubmissionKey } from "./get-submission.ts";

export const resultsQuery = z.strictObject({
  status: oneOf(documentStatuses).optional(),
  ...viewParameters,
  limit: limitParameter.optional(),
  cursor: cursorParameter,
  after: z
    .string()
    .refine((id) => documentIdFlaw(id) === null, "must be the id of a document of the results: omit it to start over")
    .describe("Start after this document: the last one that an interrupted stream sent. A `cursor` overrides it.")
    .optional(),
});

const NOT_HERE = {
  pointer: "?after",
  detail: "the submission has no recorded document with this id: pass one of its results, or omit it to start over",
};
const cursorSchema = z.strictObject({ part: z.int().min(0), index: z.int().min(0) });

export type ResultsInput = SubmissionKey & { readonly query: z.output<typeof resultsQuery> };

/**
 * A page of a submission's recorded documents as JSON text, 50 by default. It may hold fewer than `limit` and still have
 * a next one.
 */
export async function listResults(context: Reader, input: ResultsInput): Promise<Result<Page<string>, Problem>> {
  const found = await findResults(context, input);
  if (!found.ok) return found;
  const { submission, view, start } = found.value;
  const page = await readResultsPage(context, submission, view, start, input.query.limit ?? DEFAULT_LIMIT);
  const next = page.next === null ? null : writeCursor({ part: page.next.part, index: page.next.index });
  return ok({ data: page.documents, next_cursor: next });
}

interface FoundResults {
  readonly submission: SubmissionRow;
  readonly view: ResultsQuery;
  /** `null`: from the first. */
  readonly start: ResultPosition | null;
}

/** The submission of the requested results, and where they start. */
export async function findResults(context: Reader, input: ResultsInput): Promise<Result<FoundResults, Problem>> {
  const { status = null, top_k: topK = null, include = [], after } = input.query;
  const cursor = readCursor(input.query.cursor, cursorSchema);
  if (!cursor.ok) return err(invalid(cursor.error));
  const submission = await findSubmission(context, input);
  if (!submission.ok) return submission;
  const found = { submission: submission.value, view: { status, topK, include } };
  if (cursor.value !== null || after === undefined) return ok({ ...found, start: cursor.value });
  const start = await findPosition(context.db, submission.value, after);
  return start === null ? err(invalid([NOT_HERE])) : ok({ ...found, start });
}
