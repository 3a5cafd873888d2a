import { ok, type Result } from "@sluice/core";
import type * as z from "zod";
import type { ApiContext, Call } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { pageResponse } from "../http/respond.ts";
import { readFeed as readPage, type feedQuery } from "../verbs/read-feed.ts";

/** Between two looks while a caller waits: a query each. */
const LOOK_INTERVAL_MS = 2_000;

interface Input {
  readonly key: ApiKey;
  readonly query: z.output<typeof feedQuery>;
}

/** A page of the feed, as JSON or NDJSON. If there is nothing new, it waits for up to `wait` seconds. */
export async function readFeed(context: ApiContext, input: Input, call: Call): Promise<Result<Response, Problem>> {
  const { wait = 0, from, ...query } = input.query;
  let page = await readPage(context, input);
  // The end as it is now is what `now` asks for, with nothing to wait for.
  let left = from === "now" ? 0 : wait * 1_000;
  while (page.ok && left > 0 && page.value.data.length === 0 && !call.request.signal.aborted) {
    if (page.value.ended) {
      const rest = Math.min(left, LOOK_INTERVAL_MS);
      await context.sleep(rest);
      left -= rest;
    }
    page = await readPage(context, { key: input.key, query: { ...query, cursor: page.value.next_cursor } });
  }
  return page.ok ? ok(pageResponse(call, page.value)) : page;
}
