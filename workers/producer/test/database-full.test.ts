import { env } from "cloudflare:test";
import { openDatabase, type Database } from "@sluice/db";
import { recordDatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import { fullDatabase, unsizedDatabase } from "@sluice/pipeline/test-support/full-database.ts";
import { impatient } from "@sluice/pipeline/test-support";
import { beforeEach, describe, expect, it } from "vitest";
import { NOW, pushJson, pushNdjson, storedRows, testApi, type ProblemBody } from "./api.ts";
import { failed, ids, post } from "./stored.ts";

const DOCUMENT = { query: "capital of France", contexts: ["Paris"] };
const LIMIT = 1_000_000_000;
const KEYED = { "idempotency-key": "k", "content-type": "application/json" };

/** Records a size as the poller does. */
const record = (share: number, limit = LIMIT) =>
  recordDatabaseSize(openDatabase(env.DB, impatient), { bytes: share * limit, limit }, NOW);

const problemOf = async (response: Response) => (await response.json()) as ProblemBody;

describe("a push to a full database", () => {
  beforeEach(() => record(0.95));

  it("is refused with 503 and Retry-After, and nothing is stored or sent", async () => {
    const api = await testApi();
    const before = await storedRows();
    const response = await pushJson(api, DOCUMENT);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await problemOf(response)).toMatchObject({ type: "/problems/database-full", submission: null });
    expect((await pushNdjson(api, `${JSON.stringify(DOCUMENT)}\n`)).status).toBe(503);
    expect(
      (await api.fetch("/v1/documents", { method: "POST", body: JSON.stringify(DOCUMENT), headers: KEYED })).status,
    ).toBe(503);
    expect([await storedRows(), api.calls]).toEqual([before, []]);
  });

  it("is accepted again once the level has fallen, under the key that was refused too", async () => {
    const api = await testApi();
    const keyed = () => api.fetch("/v1/documents", { method: "POST", body: JSON.stringify(DOCUMENT), headers: KEYED });
    expect((await keyed()).status).toBe(503);
    await record(0.91);
    expect((await keyed()).status).toBe(503);
    await record(0.89);
    expect((await keyed()).status).toBe(202);
    expect((await pushJson(api, DOCUMENT)).status).toBe(202);
  });

  it("ends in the Queue if it began before, and if its key resumes it", async () => {
    await record(0.1);
    const sent: string[] = [];
    const queue = {
      sendBatch: async (messages: Iterable<{ body: string }>) => {
        await record(0.96);
        sent.push(...Array.from(messages, ({ body }) => body));
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue } });
    const line = JSON.stringify({ ...DOCUMENT, query: "x".repeat(100_000) });
    expect((await pushNdjson(api, `${line}\n`.repeat(6))).status).toBe(202);
    expect(sent).toHaveLength(6);

    await record(0.1);
    const gone = { sendBatch: async () => Promise.reject(new Error("gone")) };
    const broken = await testApi({ queues: { interactive: gone, bulk: gone } });
    const push = { method: "POST", body: JSON.stringify(DOCUMENT), headers: KEYED };
    expect((await broken.fetch("/v1/documents", push)).status).toBe(503);
    await record(0.96);
    const resumed = await api.fetch("/v1/documents", push);
    expect([resumed.status, resumed.headers.get("idempotency-resumed")]).toEqual([202, "0"]);
  });

  it("does not keep reads, cancel, retry and delete from working", async () => {
    await record(0.1);
    const { submission } = await failed(ids(0, 2), "model_error");
    await record(0.95);
    const api = await testApi();
    for (const [method, path] of [
      ["GET", "/v1/submissions"],
      ["GET", "/v1/collections/default/documents/d0"],
      ["POST", `/v1/submissions/${submission}/retry`],
      ["POST", `/v1/submissions/${submission}/cancel`],
    ] as const)
      expect((await api.fetch(path, method === "POST" ? post() : {})).status, path).toBe(200);
    expect((await api.fetch("/v1/collections/default/documents/d0", { method: "DELETE" })).status).toBe(200);
  });
});

describe("the producer's own knowledge", () => {
  /** Its isolate has seen this size. */
  function apiThatSaw(bytes: number, ageMs = 0, now = 1_000_000) {
    const size = { bytes, at: now - ageMs };
    return testApi({ db: openDatabase(unsizedDatabase(env.DB), { ...impatient, now: () => now }, size) });
  }

  it("refuses a push that would fill the database, although the level is not recorded yet", async () => {
    await record(0.94);
    expect((await pushJson(await apiThatSaw(0.94 * LIMIT), DOCUMENT)).status).toBe(202);
    expect((await pushJson(await apiThatSaw(0.95 * LIMIT), DOCUMENT)).status).toBe(503);
    // Another size has been recorded since.
    expect((await pushJson(await apiThatSaw(0.95 * LIMIT, 60_001), DOCUMENT)).status).toBe(202);
  });

  it("counts all documents of a JSON push, and a staged part", async () => {
    await record(0.94, 10_000_000);
    const large = (bytes: number) => ({ ...DOCUMENT, query: "x".repeat(bytes) });
    // Each with a fresh isolate: the recorded size counts.
    const push = async (...documents: object[]) => pushJson(await testApi(), { documents });
    expect((await push(large(40_000))).status).toBe(202);
    expect((await push(large(40_000), large(40_000), large(40_000))).status).toBe(503);
    // Too large for a message.
    expect((await pushNdjson(await testApi(), `${JSON.stringify(large(300_000))}\n`)).status).toBe(503);
    expect((await env.DB.prepare("SELECT 1 FROM staged_parts").all()).results).toEqual([]);
  });

  it("accepts a push of any size below the level at which a full database is full no more", async () => {
    await record(0.89, 1_000_000);
    expect((await pushJson(await testApi(), { ...DOCUMENT, query: "x".repeat(900_000) })).status).toBe(202);
  });
});

describe("while D1 refuses writes because the database is full", () => {
  it("a new push is refused, and one under way can be resumed", async () => {
    const state = { isFull: true };
    const { d1 } = fullDatabase(env.DB, () => state.isFull);
    const db: Database = openDatabase(d1, impatient);
    const api = await testApi({ db });
    expect(await problemOf(await pushJson(api, DOCUMENT))).toMatchObject({
      type: "/problems/database-full",
      submission: null,
    });
    state.isFull = false;
    const text = JSON.stringify({ ...DOCUMENT, query: "x".repeat(100_000) });
    const body = `${text}\n`.repeat(6);
    const queue = {
      sendBatch: async () => {
        state.isFull = true;
      },
    };
    const filling = await testApi({ db, queues: { interactive: queue, bulk: queue } });
    const interrupted = await pushNdjson(filling, body, "", { "idempotency-key": "k" });
    expect(interrupted.status).toBe(503);
    const { type, submission } = await problemOf(interrupted);
    expect([type, submission]).toEqual(["/problems/database-full", expect.stringMatching(/^sub_/)]);
    state.isFull = false;
    await env.DB.prepare("UPDATE submissions SET holder = ''").run();
    const resumed = await pushNdjson(await testApi(), body, "", { "idempotency-key": "k" });
    expect(await resumed.json()).toMatchObject({ submission: { id: submission, counts: { total: 6 } } });
  });

  it("other requests that need a write are 503 with the reason", async () => {
    const { d1 } = fullDatabase(env.DB, () => true);
    const response = await (await testApi({ db: openDatabase(d1, impatient) })).fetch("/v1/pause", post());
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
    expect((await problemOf(response)).detail).toContain("maximum size");
  });
});
