import type { ResultPosition, SubmissionRow } from "@sluice/db";
import * as z from "zod";
import type { Call, Dependencies } from "../dependencies.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { DEFAULT_LIMIT, MAX_LIMIT, limitParameter, parseQuery, viewParameters } from "../http/query.ts";
import { jsonResponse, wantsNdjson } from "../http/respond.ts";
import { describeError } from "../log.ts";
import { readResults, type ResultsQuery } from "../results.ts";
import { findSubmission, noSubmission } from "./get-submission.ts";

const statuses = ["queued", "processing", "succeeded", "failed", "canceled"] as const;

const querySchema = z.strictObject({
  status: z.enum(statuses, { error: `must be one of: ${statuses.join(", ")}` }).optional(),
  ...viewParameters,
  limit: limitParameter.optional(),
  cursor: z.string().optional(),
});

const cursorSchema = z.strictObject({ part: z.int().min(0), index: z.int().min(0) });

/**
 * A submission's recorded documents: a page (50 unless told), or as NDJSON all of them, or the first
 * `limit`. A page may hold fewer than `limit` and still have a next one.
 */
export async function listResults(dependencies: Dependencies, call: Call): Promise<Response> {
  const parsed = parseQuery(querySchema, call.url.searchParams);
  if (!parsed.ok) return problemResponse(invalid(parsed.error));
  const cursor = readCursor(parsed.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));
  const submission = await findSubmission(dependencies, call);
  if (submission === null) return noSubmission();

  const { status = null, top_k: topK = null, include = [], limit } = parsed.value;
  const query: ResultsQuery = { status, topK, include };
  if (wantsNdjson(call.request)) {
    const body = lines(dependencies, submission, query, { after: cursor.value, left: limit ?? Infinity });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  }
  const page = await readResults(dependencies, submission, query, cursor.value, limit ?? DEFAULT_LIMIT);
  return jsonResponse({
    data: page.documents,
    next_cursor: page.next === null ? null : writeCursor({ part: page.next.part, index: page.next.index }),
  });
}

/** A document a line, a page at a time as the reader takes them. It breaks off, not ends, where D1 fails. */
function lines(
  dependencies: Dependencies,
  submission: SubmissionRow,
  query: ResultsQuery,
  start: { readonly after: ResultPosition | null; readonly left: number },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let { after, left } = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const page = await readResults(dependencies, submission, query, after, Math.min(left, MAX_LIMIT));
            left -= page.documents.length;
            after = page.next;
            const text = page.documents.map((document) => `${JSON.stringify(document)}\n`).join("");
            if (text !== "") controller.enqueue(encoder.encode(text));
            if (after === null || left <= 0) return controller.close();
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
