import { expect, test } from "vitest";
import type { Document } from "../../src/index.ts";
import { problem } from "../fake-api.ts";
import { clientOf, collect, documents, idsOf, pathsOf, pushed } from "./client.ts";

test("the feed is endless, and its cursor follows processed documents", async () => {
  const { api, client, waits } = await pushed(3);
  const feed = client.feed({ collection: "c", wait: 5 });
  const cursors: (string | null)[] = [];
  const found: Document[] = [];
  for await (const document of feed) {
    cursors.push(feed.cursor);
    found.push(document);
    if (found.length === 3) await clientOf(api).client.push(documents(1), { collection: "c" });
    if (found.length === 4) break;
  }
  expect(idsOf(found)).toEqual(["d1", "d2", "d3", "d1"]);
  expect(cursors).toEqual([null, null, null, "3"]);
  expect(waits).toEqual([]);
  expect(pathsOf(api).at(-1)).toBe("GET /v1/results?cursor=3&collection=c&wait=5");
});

test("a feed from now starts at the end without reading earlier documents", async () => {
  const { api } = await pushed(3);
  const later = { id: "later", query: "q", contexts: ["a"] };
  const fetchThenPush: typeof api.fetch = async (input, init) => {
    // A document ends once the feed waits for it.
    if (input.includes("cursor=3")) await clientOf(api).client.push(later);
    return api.fetch(input, init);
  };
  const { client, waits } = clientOf({ fetch: fetchThenPush });
  const feed = client.feed({ from: "now", wait: 5, collection: "c" });
  expect(feed.cursor).toBeNull();
  for await (const document of feed) {
    expect(document.id).toBe("later");
    break;
  }
  expect([feed.cursor, waits]).toEqual(["3", []]);
  expect(pathsOf(api).filter((path) => path.startsWith("GET"))).toEqual([
    "GET /v1/results?from=now&collection=c&wait=5",
    "GET /v1/results?cursor=3&collection=c&wait=5",
  ]);
});

test("a feed reports each delay, and when the server answers again", async () => {
  const { api } = await pushed(2);
  const gone = () => {
    throw new TypeError("connection refused");
  };
  api.instead.push(gone, () => problem(503, "unavailable"));
  const reported: unknown[] = [];
  const feed = clientOf(api, { retries: Infinity }).client.feed({
    onRetry: (retry) => reported.push(retry === null ? "again" : [retry.error.code, retry.wait]),
  });
  for await (const { id } of feed) if (id === "d2") break;
  expect(reported).toEqual([["no-answer", 500], ["unavailable", 1_000], "again"]);
});

test("pauses between requests of a feed without new documents", async () => {
  const { api } = await pushed(1);
  const stop = new AbortController();
  const waits: number[] = [];
  const sleep = async (milliseconds: number) => {
    waits.push(milliseconds);
    if (waits.length === 3) stop.abort(new Error("enough"));
  };
  const { client } = clientOf(api, {}, { sleep });
  await expect(collect(client.feed({ cursor: "1", signal: stop.signal }))).rejects.toThrow("enough");
  expect(waits).toEqual([1_000, 1_000, 1_000]);
  expect(api.received).toHaveLength(3);
});
