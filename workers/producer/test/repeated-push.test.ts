import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { parseKeys } from "../src/http/keys.ts";
import { KEY, NOW, keyRecord, storedRows, testApi } from "./api.ts";
import { HOUR, FRANCE, type Accepted, send, lines, sendLines, problem, submissions } from "./keyed-push.ts";

describe("a push with an Idempotency-Key", () => {
  it("that is repeated gets the first answer again, byte for byte, and sends nothing", async () => {
    const api = await testApi();
    const first = await send(api, "k", FRANCE, { query: "?label=l" });
    const text = await first.text();
    const again = await send(api, "k", FRANCE, { query: "?label=l" });
    expect([again.status, await again.text()]).toEqual([202, text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    expect(api.calls).toHaveLength(1);
  });

  it("as NDJSON with refused lines gets the first answer again too", async () => {
    const api = await testApi();
    const body = `${lines(20)}\nnot json`;
    const first = await (await sendLines(api, "k", body)).text();
    const sent = api.messages().length;
    const again = await sendLines(api, "k", body);
    expect(await again.text()).toBe(first);
    expect(JSON.parse(first)).toMatchObject({ accepted: 20, rejected: [{ line: 21 }] });
    expect(api.messages()).toHaveLength(sent);
  });

  it.each([
    ["another body", { ...FRANCE, query: "capital of Spain" }, {}],
    ["other options", FRANCE, { query: "?collection=other" }],
    ["another type", JSON.stringify(FRANCE), { type: "application/x-ndjson" }],
  ])("is refused with 422 with %s, and nothing changes", async (_, body, more) => {
    const api = await testApi();
    const first = (await (await send(api, "k", FRANCE)).json()) as Accepted;
    const rows = await storedRows();
    const response = await send(api, "k", body, more);
    expect(response.status).toBe(422);
    expect(await problem(response)).toMatchObject({
      type: "/problems/idempotency-key-reused",
      detail: expect.stringMatching(/other options, another content type or another body.* or use a new key/),
      submission: first.submission.id,
    });
    expect([await storedRows(), api.calls.length]).toEqual([rows, 1]);
  });

  it("belongs to its API key: the same name of another API key is another key", async () => {
    const keys = parseKeys(
      JSON.stringify([await keyRecord(KEY, { name: "a" }), await keyRecord("other", { name: "b" })]),
    );
    const api = await testApi({ keys });
    await send(api, "k", FRANCE);
    const headers = { authorization: "Bearer other", "content-type": "application/json", "idempotency-key": "k" };
    const other = await api.fetch("/v1/documents", { method: "POST", body: JSON.stringify(FRANCE), headers });
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([202, null]);
    expect(await submissions()).toBe(2);
  });

  it("has the same key quoted, as in the draft, and bare", async () => {
    const api = await testApi();
    await send(api, 'a "b" \\', FRANCE);
    expect((await send(api, '"a \\"b\\" \\\\"', FRANCE)).headers.get("idempotency-replayed")).toBe("true");
  });

  it.each([
    ["", 422],
    ["x".repeat(256), 422],
    ["é", 422],
    ["tab\tbed", 422],
    ["x".repeat(255), 202],
    ["a b", 202],
    ['"a, b"', 202],
  ])("%j is answered %i", async (key, status) => {
    const api = await testApi();
    expect((await send(api, key, FRANCE)).status).toBe(status);
  });

  it.each(["a, b", '"a", "b"', "a,b"])("is refused with two keys, which arrive as one: %s", async (joined) => {
    const api = await testApi();
    const response = await send(api, joined, FRANCE);
    expect([response.status, (await problem(response)).detail]).toEqual([
      422,
      "the header Idempotency-Key is given more than once, or has a comma: " +
        'give one key, and quote a key that has a comma, such as "a,b"',
    ]);
    expect(await storedRows()).toBe(0);
  });

  it("can use its key again after a refusal", async () => {
    const api = await testApi();
    expect((await send(api, "k", "not json")).status).toBe(400);
    expect((await send(api, "k", { query: "q", contexts: [] })).status).toBe(422);
    expect((await sendLines(api, "k", "bad")).status).toBe(422);
    expect(await storedRows()).toBe(0);
    expect((await send(api, "k", FRANCE)).status).toBe(202);
  });

  it("is forgotten after 24 hours, and new keys delete expired ones", async () => {
    const clock = { now: NOW };
    const api = await testApi({ now: () => clock.now });
    await send(api, "a", FRANCE);
    await send(api, "b", FRANCE);
    clock.now += 24 * HOUR - 1;
    expect((await send(api, "a", FRANCE)).headers.get("idempotency-replayed")).toBe("true");
    clock.now += 1;
    expect((await send(api, "a", { ...FRANCE, query: "another" })).status).toBe(202);
    const { results } = await env.DB.prepare("SELECT key FROM idempotency_keys").all();
    expect(results).toEqual([{ key: "a" }]);
  });

  it("writes four rows for a document: submission, key with its index, and the answer", async () => {
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    await send(api, "k", FRANCE);
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBe(4);
  });

  it("sent twice at once runs once", async () => {
    const api = await testApi();
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(api, "k", FRANCE)));
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThanOrEqual(1);
    expect(statuses.every((status) => status === 202 || status === 409)).toBe(true);
    expect([await submissions(), api.calls.length]).toEqual([1, 1]);
    for (const answer of answers) if (answer.status === 409) expect(answer.headers.get("retry-after")).not.toBeNull();
  });
});

describe("a running push", () => {
  it("answers the same key 409 with Retry-After", async () => {
    const clock = { now: NOW };
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
    const queue = {
      sendBatch: async () => {
        reach(undefined);
        await gate;
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue }, now: () => clock.now });
    const first = send(api, "k", FRANCE);
    await reached;
    clock.now += 20_000;
    // Most pushes are over soon: nobody is kept until this one would count as broken off.
    const second = await send(api, "k", FRANCE);
    expect([second.status, second.headers.get("retry-after")]).toEqual([409, "2"]);
    expect(await problem(second)).toMatchObject({ type: "/problems/conflict" });
    clock.now += 39_001;
    expect((await send(api, "k", FRANCE)).headers.get("retry-after")).toBe("1");
    open(undefined);
    expect((await first).status).toBe(202);
    expect((await send(api, "k", FRANCE)).headers.get("idempotency-replayed")).toBe("true");
  });
});
