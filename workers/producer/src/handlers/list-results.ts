import { documentIdFlaw } from "@sluice/core";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { findPosition, type ResultPosition } from "@sluice/pipeline/document/sql/read-document.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import {
  DEFAULT_LIMIT,
  MAX_LIMIT,
  cursorParameter,
  limitParameter,
  oneOf,
  parseQuery,
  viewParameters,
} from "../http/query.ts";
import { NDJSON_TYPES, pageResponse, wantsNdjson } from "../http/respond.ts";
import { readResults, type ResultsQuery } from "../results.ts";
import { documentStatuses } from "../shapes/document.ts";
import { findSubmission, noSubmission } from "./get-submission.ts";

export const resultsQuery = z.strictObject({
  status: oneOf(documentStatuses).optional(),
  ...viewParameters,
  limit: limitParameter.optional(),
  cursor: cursorParameter,
  after: z
    .string()
    .refine((id) => documentIdFlaw(id) === null, "must be the id of a document that came: leave it out to begin anew")
    .describe(
      "Where to begin: behind this document, the last that came of a stream that broke off. A `cursor` goes on from its own place.",
    )
    .optional(),
});

const NOT_HERE = {
  pointer: "?after",
  detail: "the submission holds no recorded document of this id: pass one on that came, or begin anew without it",
};
const cursorSchema = z.strictObject({ part: z.int().min(0), index: z.int().min(0) });

/**
 * A submission's recorded documents: a page (50 unless told), or as NDJSON all of them, or a page of
 * `limit`, whose `Link` leads to the next. A page may hold fewer than `limit` and still have a next one.
 */
export async function listResults(dependencies: ApiContext, call: Call): Promise<Response> {
  const parsed = parseQuery(resultsQuery, call.url.searchParams);
  if (!parsed.ok) return problemResponse(invalid(parsed.error));
  const cursor = readCursor(parsed.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));
  const { status = null, top_k: topK = null, include = [], limit, after } = parsed.value;
  const submission = await findSubmission(dependencies, call);
  if (submission === null) return noSubmission();
  let start = cursor.value;
  if (start === null && after !== undefined) {
    start = await findPosition(dependencies.db, submission, after);
    if (start === null) return problemResponse(invalid([NOT_HERE]));
  }

  const query: ResultsQuery = { status, topK, include };
  if (wantsNdjson(call.request) && limit === undefined) {
    const body = lines(dependencies, submission, query, start);
    return new Response(body, { headers: { "content-type": NDJSON_TYPES[0] } });
  }
  const page = await readResults(dependencies, submission, query, start, limit ?? DEFAULT_LIMIT);
  const next = page.next === null ? null : writeCursor({ part: page.next.part, index: page.next.index });
  return pageResponse(call, page.documents, next);
}

/** A document a line, a page at a time as the reader takes them. It breaks off, not ends, where D1 fails. */
function lines(
  dependencies: ApiContext,
  submission: SubmissionRow,
  query: ResultsQuery,
  start: ResultPosition | null,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let after = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const page = await readResults(dependencies, submission, query, after, MAX_LIMIT);
            after = page.next;
            const text = page.documents.map((document) => `${document}\n`).join("");
            if (text !== "") controller.enqueue(encoder.encode(text));
            if (after === null) return controller.close();
            if (text !== "") return;
          }
        } catch (error) {
          dependencies.log({ event: "results_broke_off", submission: submission.id, ...describeError(error) });
          controller.error(new Error("the results broke off"));
        }
      },
    },
    { highWaterMark: 0 },
  );
}
