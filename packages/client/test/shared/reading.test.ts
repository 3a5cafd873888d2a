import { expect, test } from "vitest";
import { Sluice, type Document } from "../../src/index.ts";
import { FakeApi, KEY, problem } from "../fake-api.ts";
import { malformedOf } from "../shapes.ts";
import { clientOf, collect, documents, idsOf, pathsOf, pushed } from "./client.ts";

/** An answer whose body is truncated. */
function brokenOff(): Response {
  const start = new TextEncoder().encode('{"data":[{"id":"d');
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (controller.desiredSize === 0) return controller.error(new TypeError("terminated"));
      controller.enqueue(start);
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body);
}

test("reads the results of a submission page by page, each once and in order", async () => {
  const { api, client, id } = await pushed(25);
  const found = await collect(
    client.results(id, { limit: 10, topK: 3, include: ["text", "metadata"], status: "queued" }),
  );
  expect(idsOf(found)).toEqual(documents(25).map((document) => document.id));
  const query = "status=queued&top_k=3&include=text%2Cmetadata&limit=10";
  expect(pathsOf(api)).toEqual([
    `GET /v1/submissions/${id}/results?${query}`,
    `GET /v1/submissions/${id}/results?${query}&cursor=10`,
    `GET /v1/submissions/${id}/results?${query}&cursor=20`,
  ]);
});

test("results continue after a broken connection without gaps or repeats", async () => {
  const { api, client, id } = await pushed(25);
  const found: Document[] = [];
  for await (const document of client.results(id, { limit: 10 })) {
    if (found.length === 0) api.instead.push(brokenOff, brokenOff);
    found.push(document);
  }
  expect(idsOf(found)).toEqual(documents(25).map((document) => document.id));
});

test("aborts the pending request when the reader stops", async () => {
  const { client, id } = await pushed(25);
  let signal: AbortSignal | null | undefined;
  const api = new FakeApi();
  const reading = clientOf({
    fetch: (input, init) => {
      if (!input.includes("cursor=")) return api.fetch(input, init);
      signal = init?.signal;
      return new Promise(() => {});
    },
  }).client;
  await reading.push(documents(25));
  expect(idsOf(await collect(client.results(id)))).toHaveLength(25);
  for await (const document of reading.results("sub_0001", { limit: 10 })) {
    expect(document.id).toBe("d1");
    break;
  }
  expect(signal?.aborted).toBe(true);
});

test("reads a single page", async () => {
  const { client, id } = await pushed(25);
  const list = client.results(id, { limit: 10 });
  const first = await list.page();
  const second = await list.page(first.next_cursor ?? "");
  expect(idsOf([...first.data, ...second.data])).toEqual(documents(20).map((document) => document.id));
});

test("lists submissions with the given filters", async () => {
  const { api, client, id } = await pushed(1);
  const found = await collect(client.submissions({ label: "l", status: "queued", since: new Date(0) }));
  expect(found.map((one) => one.id)).toEqual([id]);
  expect(pathsOf(api)).toEqual(["GET /v1/submissions?status=queued&label=l&since=1970-01-01T00%3A00%3A00.000Z"]);
});

test("reads a document whose id has any characters", async () => {
  const api = new FakeApi();
  const { client } = clientOf(api);
  const id = "a/b?c#d %2F ü";
  await client.push({ id, query: "q", contexts: ["a"] }, { collection: "c" });
  expect((await client.document("c", id, { topK: 1 })).id).toBe(id);
  expect(await client.deleteDocument("c", id)).toEqual({ deleted: 1 });
});

test("reads any number of documents in the given order, in requests that fit", async () => {
  const { api, client } = await pushed(130);
  const asked = [
    ...documents(130)
      .map(({ id }) => id)
      .toReversed(),
    "unknown",
  ];
  const found = await client.documents("c", asked);
  expect(idsOf(found.data)).toEqual(asked.slice(0, -1));
  expect(found.missing).toEqual(["unknown"]);
  expect(api.received.map(({ url }) => url.searchParams.getAll("id").length)).toEqual([100, 31]);

  api.received.length = 0;
  // Some characters are longer in a query string than in the output of encodeURIComponent.
  const long = ["ü", "!", "'", " ", "~"].flatMap((filler) =>
    documents(40).map(({ id }) => id.padEnd(filler === "ü" ? 128 : 256, filler)),
  );
  expect((await client.documents("c", long)).missing).toEqual(long);
  expect(api.received.flatMap(({ url }) => url.searchParams.getAll("id"))).toEqual(long);
  expect(Math.max(...api.received.map(({ url }) => url.href.length))).toBeLessThan(8_000);
});

test("lists and replays quarantined messages, even if a first answer is lost", async () => {
  const { api, client } = await pushed(1);
  api.malformed.push(malformedOf("msg_a"), malformedOf("msg_b"));
  expect((await collect(client.malformed({ limit: 1 }))).map(({ id }) => id)).toEqual(["msg_a", "msg_b"]);
  expect(await client.replayMalformed("msg_a")).toEqual({ replayed: 1 });
  await expect(client.replayMalformed("msg_a")).rejects.toMatchObject({ code: "not-found" });
  api.instead.push(async (request) => {
    await api.fetch(request.url, { method: request.method, headers: request.headers });
    throw new TypeError("the connection broke");
  });
  expect(await client.replayMalformed("msg_b")).toEqual({ replayed: 0 });
  expect(api.malformed).toEqual([]);
});

test("discards a quarantined message, even if a first answer is lost", async () => {
  const { api, client } = await pushed(1);
  api.malformed.push(malformedOf("msg_a"), malformedOf("msg_b"));
  await client.discardMalformed("msg_a");
  expect(api.malformed.map(({ id }) => id)).toEqual(["msg_b"]);
  await expect(client.discardMalformed("msg_a")).rejects.toMatchObject({ code: "not-found" });
  api.instead.push(async (request) => {
    await api.fetch(request.url, { method: request.method, headers: request.headers });
    throw new TypeError("the connection broke");
  });
  await client.discardMalformed("msg_b");
  expect(api.malformed).toEqual([]);
});

test("sends the target of each operation", async () => {
  const { api, client, id } = await pushed(2);
  expect(await client.pause({ model: "m" })).toMatchObject([{ scope: "model:m", reason: "requested" }]);
  expect(await client.pause({ submission: id })).toHaveLength(2);
  expect(await client.pause({}, { reason: "why" })).toHaveLength(3);
  expect(await client.resume()).toMatchObject({ resumed: { scope: "all" }, data: [{}, {}] });
  expect((await client.stats()).pauses).toHaveLength(2);
  expect((await client.cancel(id)).status).toBe("canceled");
  expect(await client.retry(id, { code: "model_error" })).toMatchObject({ queued: 0, submission: { id } });
  expect((await client.job("job_7")).id).toBe("job_7");
  expect(await collect(client.jobs({ lane: "bulk" }))).toHaveLength(1);
  expect(await client.health()).toEqual({ status: "ok" });
  expect(pathsOf(api)).toEqual([
    "POST /v1/pause",
    "POST /v1/pause",
    "POST /v1/pause",
    "POST /v1/resume",
    "GET /v1/stats",
    `POST /v1/submissions/${id}/cancel`,
    `POST /v1/submissions/${id}/retry?code=model_error`,
    "GET /v1/jobs/job_7",
    "GET /v1/jobs?lane=bulk",
    "GET /healthz",
  ]);
  expect(api.received.slice(0, 4).map(({ text }) => text)).toEqual([
    '{"model":"m"}',
    `{"submission":"${id}"}`,
    '{"reason":"why"}',
    "{}",
  ]);
});

test("an error has all fields of the problem", async () => {
  const api = new FakeApi();
  const errors = [{ pointer: "?limit", detail: "must be a whole number" }];
  api.instead.push(() => problem(422, "invalid", { errors, request_id: "r1" }, { "retry-after": "3" }));
  await expect(clientOf(api).client.stats()).rejects.toMatchObject({
    name: "SluiceError",
    message: "Title of invalid: Detail of invalid.",
    status: 422,
    type: "/problems/invalid",
    code: "invalid",
    title: "Title of invalid",
    detail: "Detail of invalid.",
    errors,
    requestId: "r1",
    retryAfter: 3,
  });
});

test.each([
  ["a page of a proxy", () => new Response("<html>", { status: 404 })],
  ["a success that is not JSON", () => new Response("<html>", { status: 200 })],
])("does not accept %s as the API's answer", async (_, instead) => {
  const api = new FakeApi();
  api.instead.push(instead);
  await expect(clientOf(api).client.stats()).rejects.toMatchObject({ code: "unreadable" });
});

test("retries a request that times out", async () => {
  const api = new FakeApi();
  let asked = 0;
  const fetchLate: typeof api.fetch = (input, init) => {
    asked += 1;
    if (asked > 1) return api.fetch(input, init);
    return new Promise((_, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
    });
  };
  const { client, waits } = clientOf({ fetch: fetchLate }, { timeout: 20 });
  expect((await client.stats()).backlog).toEqual({ documents: 0, jobs: 0 });
  expect(waits).toEqual([500]);
});

test("accepts a deletion whose first answer was lost", async () => {
  const { api, client } = await pushed(1);
  api.instead.push(
    () => {
      throw new TypeError("socket closed");
    },
    () => problem(404, "not-found"),
  );
  expect(await client.deleteDocument("c", "d1")).toEqual({ deleted: 0 });
  await expect(client.deleteDocument("c", "unknown")).rejects.toMatchObject({ code: "not-found" });
});

test("refuses an invalid key without showing it", () => {
  const make = () => new Sluice({ url: "http://sluice.test", key: "secret\n" });
  expect(make).toThrow("key must be printable ASCII without spaces");
  expect(make).not.toThrow("secret");
  expect(() => new Sluice({ url: "sluice.test", key: KEY })).toThrow("url must start with");
});
