import { parseSubmissionId } from "@sluice/core";
import { countFailures, listSubmissions as readSubmissions } from "@sluice/db";
import * as z from "zod";
import type { Call, Dependencies } from "../dependencies.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { DEFAULT_LIMIT, limitParameter, parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { submissionShape } from "../shapes/submission.ts";

const querySchema = z.strictObject({ limit: limitParameter.optional(), cursor: z.string().optional() });

const cursorSchema = z.strictObject({
  before: z.string().transform((text, context) => {
    const id = parseSubmissionId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a submission id" });
    return z.NEVER;
  }),
});

/**
 * Submissions, the newest first. A page of a key that is limited to some collections may hold fewer
 * than `limit` and still have a next one.
 */
export async function listSubmissions({ db, now }: Dependencies, call: Call): Promise<Response> {
  const query = parseQuery(querySchema, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const cursor = readCursor(query.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));

  const limit = query.value.limit ?? DEFAULT_LIMIT;
  const found = await readSubmissions(db, cursor.value?.before ?? null, limit + 1);
  const page = found.slice(0, limit);
  const rows = page.filter((row) => allowsCollection(call.key, row.collection));
  const withFailures = rows.filter((row) => row.failed > 0).map((row) => row.id);
  const failures = withFailures.length > 0 ? await countFailures(db, withFailures) : [];
  const last = page.at(-1);
  return jsonResponse({
    data: rows.map((row) =>
      submissionShape(
        row,
        failures.filter((failure) => failure.submission === row.id),
        now(),
      ),
    ),
    next_cursor: found.length > limit && last !== undefined ? writeCursor({ before: last.id }) : null,
  });
}
