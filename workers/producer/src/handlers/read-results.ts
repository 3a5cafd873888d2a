import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { FEED_START, feedEnd, readFeed, type FeedPage, type FeedPosition, type FeedQuery } from "../feed.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import {
  MAX_LIMIT,
  cursorParameter,
  limitParameter,
  oneOf,
  parseQuery,
  viewParameters,
  wholeNumber,
} from "../http/query.ts";
import { pageResponse } from "../http/respond.ts";
import { collectionOption } from "../push/options.ts";

/** Seconds. */
const MAX_WAIT_SECONDS = 30;
/** Milliseconds between two looks while a caller waits: a query each. */
const LOOK_INTERVAL_MS = 2_000;

const starts = ["start", "now"] as const;

export const feedQuery = z
  .strictObject({
    collection: collectionOption.optional(),
    from: oneOf(starts)
      .describe(
        "Where to begin, in place of a cursor. `start` (without either): with what ended first. `now`: with what ends " +
          "from now on; the answer is an empty page, at once, whose `next_cursor` is the end as it is.",
      )
      .optional(),
    wait: wholeNumber(MAX_WAIT_SECONDS, 0)
      .describe("Seconds to wait for something new, where there is nothing.")
      .optional(),
    ...viewParameters,
    limit: limitParameter.describe("1,000 unless told.").optional(),
    cursor: cursorParameter,
  })
  .refine(({ from, cursor }) => from === undefined || cursor === undefined, {
    path: ["from"],
    error: "is given beside cursor, which says where to go on: give one of them",
  });

const place = z.int().min(-1);
const cursorSchema = z.strictObject({ sequence: z.int().min(0), group: place, index: place });

/**
 * Documents as they end, across submissions, each at least once, in the order of their jobs' ends: a
 * page from the cursor on, or from the start. Its `next_cursor` is never null: there may be more later.
 * What is canceled ends without a job, and is not in it.
 */
export async function readResults(dependencies: ApiContext, call: Call): Promise<Response> {
  const parsed = parseQuery(feedQuery, call.url.searchParams);
  if (!parsed.ok) return problemResponse(invalid(parsed.error));
  const cursor = readCursor(parsed.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));
  const { collection = null, from, wait = 0, top_k: topK = null, include = [], limit = MAX_LIMIT } = parsed.value;
  if (from === "now") return feedResponse(call, [], await feedEnd(dependencies));
  const query: FeedQuery = { key: call.key, collection, topK, include, limit };
  const page = await readWithRetries(
    dependencies,
    query,
    cursor.value ?? FEED_START,
    wait * 1_000,
    call.request.signal,
  );
  return feedResponse(call, page.documents, page.next);
}

function feedResponse(
  call: Call,
  documents: FeedPage["documents"],
  { sequence, group, index }: FeedPosition,
): Response {
  return pageResponse(call, documents, writeCursor({ sequence, group, index }));
}

async function readWithRetries(
  io: ApiContext,
  query: FeedQuery,
  from: FeedPosition,
  wait: number,
  signal: AbortSignal,
): Promise<FeedPage> {
  let page = await readFeed(io, query, from);
  for (let left = wait; left > 0 && page.documents.length === 0 && !signal.aborted;) {
    if (page.ended) {
      const rest = Math.min(left, LOOK_INTERVAL_MS);
      await io.sleep(rest);
      left -= rest;
    }
    page = await readFeed(io, query, page.next);
  }
  return page;
}
