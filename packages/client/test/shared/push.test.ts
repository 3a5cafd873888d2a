import { expect, test } from "vitest";
import { SluicePushError, type PushProgress, type SluiceError } from "../../src/index.ts";
import { FakeApi, problem } from "../fake-api.ts";
import { clientOf, documents, slowly, streamOf } from "./client.ts";

const linesOf = (text: string | undefined) => (text ?? "").split("\n").slice(0, -1);
const keysOf = (api: FakeApi) => api.received.map((request) => request.headers.get("idempotency-key"));

const many = documents(250);
const inputs = {
  "an array": () => many,
  "an iterable": () => new Set(many),
  "an async iterable": () => slowly(many),
  "a stream": () => streamOf(many),
  "texts of JSON": () => many.map((document) => JSON.stringify(document, null, 2)),
};

test.each(Object.entries(inputs))("sends %s as one document per line", async (_, input) => {
  const api = new FakeApi();
  const { client } = clientOf(api);
  const result = await client.push(input(), { collection: "c", label: "l", truncateInputs: false });
  expect(result).toMatchObject({ accepted: 250, rejectedCount: 0, rejected: [], alreadyThere: 0 });
  expect(result.submissions.map(({ id, label }) => ({ id, label }))).toEqual([{ id: "sub_0001", label: "l" }]);
  const [request] = api.received;
  expect(linesOf(request?.text).map((line) => JSON.parse(line))).toEqual(many);
  expect(request?.headers.get("content-type")).toBe("application/x-ndjson");
  expect(Object.fromEntries(request?.url.searchParams ?? [])).toEqual({
    collection: "c",
    label: "l",
    truncate_inputs: "false",
  });
});

test("accepts one document without a list", async () => {
  const api = new FakeApi();
  const result = await clientOf(api).client.push({ query: "q", contexts: ["a", { id: "b", text: "b" }] });
  expect(result.accepted).toBe(1);
});

test.each([
  [100, "interactive"],
  [101, null],
])("sends %i documents without a lane to %s", async (count, lane) => {
  const api = new FakeApi();
  await clientOf(api).client.push(slowly(documents(count)));
  expect(api.received[0]?.url.searchParams.get("lane")).toBe(lane);
});

test("a gzip body has its header and the same content", async () => {
  const api = new FakeApi();
  await clientOf(api).client.push(many, { gzip: true });
  expect(api.received[0]?.headers.get("content-encoding")).toBe("gzip");
  expect(linesOf(api.received[0]?.text)).toHaveLength(250);
});

test("splits a large push into requests with their own keys and continuous line numbers", async () => {
  const api = new FakeApi();
  const all: unknown[] = documents(10, "x".repeat(100));
  all[6] = { query: 1 };
  const line = JSON.stringify(all[0]).length + 1;
  const result = await clientOf(api).client.push(slowly(all as ReturnType<typeof documents>), {
    maxBytes: line * 4,
    idempotencyKey: "key",
  });
  expect(api.received.map(({ text }) => linesOf(text).length)).toEqual([4, 4, 2]);
  expect(keysOf(api)).toEqual(["key", "key.2", "key.3"]);
  expect(result.submissions.map(({ id }) => id)).toEqual(["sub_0001", "sub_0002", "sub_0003"]);
  expect(result).toMatchObject({ accepted: 9, rejectedCount: 1, rejected: [{ line: 7 }] });
  expect(api.received.every(({ text }) => text.length <= line * 4)).toBe(true);
});

test("accepts a last request with only blank lines", async () => {
  const api = new FakeApi();
  const line = JSON.stringify(documents(1)[0]);
  const fetchStrictly: typeof api.fetch = async (input, init) => {
    const body = await new Request(input, init).arrayBuffer();
    if (new TextDecoder().decode(body).trim() === "") return problem(400, "empty-body");
    return api.fetch(input, { ...init, body });
  };
  const { client } = clientOf({ fetch: fetchStrictly });
  expect(await client.push([line, "", ""], { maxBytes: line.length + 1 })).toMatchObject({ accepted: 1 });
  await expect(client.push([])).rejects.toMatchObject({ code: "empty-body" });
});

test("sends a line larger than the request limit alone", async () => {
  const api = new FakeApi();
  await clientOf(api).client.push(documents(3, "x".repeat(500)), { maxBytes: 100 });
  expect(api.received.map(({ text }) => linesOf(text).length)).toEqual([1, 1, 1]);
});

const passing = {
  "a broken connection": () => {
    throw new TypeError("fetch failed");
  },
  "a broken connection during the body": async (request: Request) => {
    const reader = request.body?.getReader();
    await reader?.read();
    throw new TypeError("socket closed");
  },
  "429": () => problem(429, "too-many-requests"),
  "503": () => problem(503, "unavailable"),
  "a full database": () => problem(503, "database-full", { submission: null }),
  "a proxy's 502": () => new Response("<html>Bad gateway</html>", { status: 502 }),
};

test.each(Object.entries(passing))("after %s, sends the same documents again with the same key", async (_, instead) => {
  const api = new FakeApi();
  const keys: (string | null)[] = [];
  api.instead.push((request) => {
    keys.push(request.headers.get("idempotency-key"));
    return instead(request);
  });
  const { client, waits } = clientOf(api);
  const result = await client.push(slowly(documents(5_000)));
  expect(result.accepted).toBe(5_000);
  expect([...keys, ...keysOf(api)]).toEqual([result.idempotencyKey, result.idempotencyKey]);
  expect(linesOf(api.received[0]?.text).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(
    documents(5_000).map(({ id }) => id),
  );
  expect(waits).toEqual([500]);
});

test("doubles the delays, and never waits less than the server asks for", async () => {
  const api = new FakeApi();
  api.instead.push(
    () => problem(503, "unavailable"),
    () => problem(503, "unavailable", {}, { "retry-after": "7" }),
    () => problem(429, "too-many-requests"),
  );
  const { client, waits } = clientOf(api);
  await client.push(many);
  expect(waits).toEqual([500, 7_000, 2_000]);
});

test("gives up on a lasting failure, with what is needed to resume", async () => {
  const api = new FakeApi();
  api.instead.push(...Array.from({ length: 4 }, () => () => problem(503, "unavailable", { submission: "sub_0009" })));
  const { client } = clientOf(api, { retries: 3 });
  const error: unknown = await client.push(many, { idempotencyKey: "key" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SluicePushError);
  expect(error).toMatchObject({ code: "unavailable", status: 503, pushed: { idempotencyKey: "key", accepted: 0 } });
  expect((error as SluiceError).problem?.submission).toBe("sub_0009");
});

test("reports what was accepted before a failure", async () => {
  const api = new FakeApi();
  const push = documents(4);
  const { client } = clientOf(api, { retries: 0 });
  let asked = 0;
  const fetchOnce: typeof api.fetch = (input, init) => {
    asked += 1;
    if (asked === 2) throw new TypeError("fetch failed");
    return api.fetch(input, init);
  };
  const broken = clientOf({ fetch: fetchOnce }, { retries: 0 }).client;
  const maxBytes = 2 * (JSON.stringify(push[0]).length + 1);
  const error: unknown = await broken
    .push(push, { maxBytes, idempotencyKey: "key" })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "no-answer", pushed: { accepted: 2, submissions: [{ id: "sub_0001" }] } });
  // Pushing again with the same key resumes: the first request is answered from memory.
  const again = await client.push(push, { maxBytes, idempotencyKey: "key" });
  expect(again).toMatchObject({ accepted: 4, alreadyThere: 2 });
  expect(api.submissions.size).toBe(2);
});

test("waits for a running push with the same key as long as the server asks", async () => {
  const api = new FakeApi();
  // An interrupted push counts as running for 60 s.
  const conflict = () => problem(409, "conflict", {}, { "retry-after": "2" });
  api.instead.push(...Array.from({ length: 30 }, () => conflict));
  const { client, waits } = clientOf(api, { retries: 0 });
  expect((await client.push(many)).accepted).toBe(250);
  expect(waits).toEqual(Array.from({ length: 30 }, () => 2_500));
});

test("quotes a key only if it would not arrive unchanged otherwise", async () => {
  const api = new FakeApi();
  for (const idempotencyKey of ["plain-1", "a,b", 'say "a\\b"', " "]) {
    await clientOf(api).client.push(documents(1), { idempotencyKey });
  }
  expect(keysOf(api)).toEqual(["plain-1", '"a,b"', '"say \\"a\\\\b\\""', '" "']);
});

test.each(["", "é", "x".repeat(251), "a\nb"])("refuses the key %j before any request", async (idempotencyKey) => {
  const api = new FakeApi();
  await expect(clientOf(api).client.push(many, { idempotencyKey })).rejects.toThrow("printable ASCII");
  expect(api.received).toEqual([]);
});

test("stops waiting for a push with the same key that does not end", async () => {
  const api = new FakeApi();
  const conflict = () => problem(409, "conflict", {}, { "retry-after": "60" });
  api.instead.push(...Array.from({ length: 9 }, () => conflict));
  const { client, waits } = clientOf(api);
  await expect(client.push(many)).rejects.toMatchObject({ code: "conflict", retryAfter: 60 });
  expect(waits).toHaveLength(2);
});

test.each([
  [401, "unauthorized"],
  [403, "forbidden"],
  [413, "body-too-large"],
  [422, "invalid"],
])("does not retry %i", async (status, name) => {
  const api = new FakeApi();
  api.instead.push(() => problem(status, name));
  await expect(clientOf(api).client.push(many)).rejects.toMatchObject({
    status,
    code: name,
    type: `/problems/${name}`,
  });
  expect(api.received).toEqual([]);
});

test("pushing the same documents with the same key repeats the push", async () => {
  const api = new FakeApi();
  const { client } = clientOf(api);
  const first = await client.push(many, { idempotencyKey: "key" });
  const second = await client.push(many, { idempotencyKey: "key" });
  expect(second.submissions).toEqual(first.submissions);
  expect([first.alreadyThere, second.alreadyThere]).toEqual([0, 250]);
  await expect(client.push(documents(2), { idempotencyKey: "key" })).rejects.toMatchObject({ status: 422 });
});

test("a resumed push reports how many documents were already there", async () => {
  const api = new FakeApi();
  const { client } = clientOf({
    async fetch(input, init) {
      const response = await api.fetch(input, init);
      return new Response(response.body, { status: 202, headers: { "idempotency-resumed": "120" } });
    },
  });
  expect(await client.push(many, { idempotencyKey: "key" })).toMatchObject({ accepted: 250, alreadyThere: 120 });
});

test("lists refused lines and accepts the others", async () => {
  const api = new FakeApi();
  const result = await clientOf(api).client.push(['{"query":"q","contexts":["a"]}', "", "not JSON", "{}"]);
  expect(result).toMatchObject({ accepted: 1, rejectedCount: 2, rejected: [{ line: 3 }, { line: 4 }] });
});

test("throws with the refused lines if nothing is acceptable", async () => {
  const api = new FakeApi();
  const push = clientOf(api).client.push(["{}", "[]"]);
  await expect(push).rejects.toMatchObject({
    code: "nothing-acceptable",
    errors: [{ line: 1 }, { line: 2 }],
    pushed: { accepted: 0, rejectedCount: 2 },
  });
});

test("rethrows an error of the source without a retry", async () => {
  const api = new FakeApi();
  const failure = new Error("the file is gone");
  async function* breaking() {
    yield* documents(3_000);
    await Promise.resolve();
    throw failure;
  }
  const { client, waits } = clientOf(api);
  await expect(client.push(breaking())).rejects.toBe(failure);
  expect(waits).toEqual([]);
});

test("reports what was sent, and the delays", async () => {
  const api = new FakeApi();
  api.instead.push(() => problem(503, "unavailable", {}, { "retry-after": "3" }));
  const reported: PushProgress[] = [];
  await clientOf(api).client.push(many, { onProgress: (progress) => reported.push(progress) });
  expect(reported.map(({ sent }) => sent).at(-1)).toBe(250);
  expect(reported.flatMap(({ retry }) => (retry === null ? [] : [[retry.error.code, retry.wait]]))).toEqual([
    ["unavailable", 3_000],
  ]);
});
