import { err, ok, type Result } from "@sluice/core";
import * as z from "zod";
import type { Reader } from "../context.ts";
import { FEED_START, feedEnd, readFeedPage, type FeedPosition } from "../feed.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import type { ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { MAX_LIMIT, cursorParameter, limitParameter, oneOf, viewParameters, wholeNumber } from "../http/query.ts";
import { collectionOption } from "../push/options.ts";

const MAX_WAIT_SECONDS = 30;

const starts = ["start", "now"] as const;

export const feedQuery = z
  .strictObject({
    collection: collectionOption.optional(),
    from: oneOf(starts)
      .describe(
        "Where to start, instead of a cursor. `start` (the default): with the document that ended first. `now`: with " +
          "documents that end from now on; the answer is an empty page, at once, whose `next_cursor` is the current end.",
      )
      .optional(),
    wait: wholeNumber(MAX_WAIT_SECONDS, 0).describe("Seconds to wait if there is nothing new.").optional(),
    ...viewParameters,
    limit: limitParameter.describe("1,000 by default.").optional(),
    cursor: cursorParameter,
  })
  .refine(({ from, cursor }) => from === undefined || cursor === undefined, {
    path: ["from"],
    error: "is given together with cursor: give one of them",
  });

const position = z.int().min(-1);
const cursorSchema = z.strictObject({ sequence: z.int().min(0), group: position, index: position });

export interface FeedInput {
  readonly key: ApiKey;
  readonly query: Omit<z.output<typeof feedQuery>, "wait">;
}

export interface FeedPage {
  /** As JSON text. */
  readonly data: readonly string[];
  /** Never null: more documents may end later. */
  readonly next_cursor: string;
  /** Whether everything that has ended so far is before `next_cursor`. */
  readonly ended: boolean;
}

/**
 * A page of documents that ended, across submissions, each at least once, in the order in which their jobs ended.
 * Canceled documents end without a job and are not in it.
 */
export async function readFeed(context: Reader, { key, query }: FeedInput): Promise<Result<FeedPage, Problem>> {
  const cursor = readCursor(query.cursor, cursorSchema);
  if (!cursor.ok) return err(invalid(cursor.error));
  const { collection = null, from, top_k: topK = null, include = [], limit = MAX_LIMIT } = query;
  if (from === "now") return ok({ data: [], next_cursor: feedCursor(await feedEnd(context)), ended: true });
  const view = { key, collection, topK, include, limit };
  const { documents, next, ended } = await readFeedPage(context, view, cursor.value ?? FEED_START);
  return ok({ data: documents, next_cursor: feedCursor(next), ended });
}

function feedCursor({ sequence, group, index }: FeedPosition): string {
  return writeCursor({ sequence, group, index });
}
