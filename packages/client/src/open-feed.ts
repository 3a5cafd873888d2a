import { documentPageShape } from "./answers/answers.ts";
import { makeCall, queryString, type Connection } from "./call.ts";
import type { SluiceError } from "./errors.ts";
import { Feed, type FeedIo } from "./feed.ts";
import type { FeedOptions } from "./options.ts";
import { view } from "./parameters.ts";

/** How long a request waits for the next document, unless the options say otherwise. */
const FEED_WAIT_SECONDS = 25;

/** Opens the feed of a connection. Nothing is sent before the first document is asked for. */
export function openFeed(connection: Connection, options: FeedOptions): Feed {
  const { collection, from = "start", wait: patience = FEED_WAIT_SECONDS, signal } = options;
  const { io, timeout } = connection;
  let away = false;
  const onRetry = (error: SluiceError, wait: number) => {
    away = true;
    options.onRetry?.({ error, wait });
  };
  const readPage: FeedIo["readPage"] = async (at, wait) => {
    const path = `/v1/results${queryString({ ...at, collection, wait, ...view(options) })}`;
    const timeoutMs = timeout + wait * 1_000;
    const call = { method: "GET", path, answer: documentPageShape, timeout: timeoutMs, signal, onRetry } as const;
    const page = (await makeCall(connection, call)).value;
    if (away) options.onRetry?.(null);
    away = false;
    return page;
  };
  const feedIo = { readPage, patience, sleep: (ms: number) => io.sleep(ms, signal), now: io.now };
  return new Feed(feedIo, options.cursor ?? undefined, from);
}
