import { env } from "cloudflare:test";
import { parseMessage } from "@sluice/pipeline/message/message.ts";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { NOW, pushJson, storedRows, testApi } from "./api.ts";

interface PushAnswer {
  readonly submission: { readonly id: string; readonly counts: Record<string, number> } & Record<string, unknown>;
  readonly documents: { readonly id: string }[] | null;
  readonly accepted: number;
  readonly rejected_count: number;
  readonly rejected: unknown[];
}

const FRANCE = { query: "capital of France", contexts: ["Paris", { id: "b", text: "Bananas" }] };

describe("a JSON push", () => {
  it("of one document is answered 202 with its submission, and sent in one message", async () => {
    const api = await testApi();
    const response = await pushJson(
      api,
      { id: "one", ...FRANCE, metadata: { tenant: "acme" } },
      "?collection=c&label=first",
    );
    expect(response.status).toBe(202);
    const body = (await response.json()) as PushAnswer;
    const { id } = body.submission;
    expect(response.headers.get("location")).toBe(`/v1/submissions/${id}`);
    expect(body).toEqual({
      submission: {
        id,
        collection: "c",
        model: "@cf/baai/bge-m3",
        lane: "interactive",
        label: "first",
        status: "queued",
        counts: { total: 1, queued: 1, processing: 0, succeeded: 0, failed: 0, canceled: 0 },
        failures: {},
        incomplete: false,
        stalled: null,
        waiting: { reason: "queue", until: null },
        retry: null,
        usage: { tokens: 0, jobs: 0, unconfirmed_dispatches: 0 },
        created_at: new Date(NOW).toISOString(),
        completed_at: null,
      },
      documents: [{ id: "one" }],
      accepted: 1,
      rejected_count: 0,
      rejected: [],
    });
    const [call] = api.calls;
    expect(api.calls).toHaveLength(1);
    expect(call?.lane).toBe("interactive");
    const message = parseMessage(call?.bodies[0]);
    expect(message).toMatchObject({
      ok: true,
      value: {
        kind: "part",
        submission: id,
        collection: "c",
        part: 0,
        truncate_inputs: true,
        documents: [
          {
            place: 0,
            id: "one",
            query: "capital of France",
            contexts: ["Paris", "Bananas"],
            context_ids: ["0", "b"],
            metadata: '{"tenant":"acme"}',
          },
        ],
      },
    });
  });

  it("of one document writes exactly one row", async () => {
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    expect((await pushJson(api, FRANCE)).status).toBe(202);
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBe(1);
    expect(await env.DB.prepare("SELECT total, closed_at FROM submissions").first()).toEqual({
      total: 1,
      closed_at: NOW,
    });
  });

  it("names documents without an id after the submission and their index", async () => {
    const api = await testApi();
    const body = (await (await pushJson(api, { documents: [{ id: "a", ...FRANCE }, FRANCE] })).json()) as PushAnswer;
    expect(body.documents).toEqual([{ id: "a" }, { id: `${body.submission.id}-1` }]);
    const [message] = api.messages();
    expect(message).toMatchObject({ documents: [{ id: "a" }, { id: `${body.submission.id}-1`, place: 1 }] });
  });

  it("takes options from the body and the query if they agree", async () => {
    const api = await testApi();
    const options = { collection: "c", lane: "bulk", label: "l", model: "@cf/baai/bge-m3", truncate_inputs: false };
    const response = await pushJson(api, { documents: [FRANCE], ...options }, "?collection=c&truncate_inputs=false");
    expect(((await response.json()) as PushAnswer).submission).toMatchObject({
      collection: "c",
      lane: "bulk",
      label: "l",
    });
    expect(api.calls[0]?.lane).toBe("bulk");
    expect(api.messages()[0]).toMatchObject({ truncate_inputs: false });
  });

  it("of more than 100 documents goes to the bulk lane, and its answer lists no ids", async () => {
    const api = await testApi();
    const list = (count: number) => ({ documents: Array.from({ length: count }, () => FRANCE) });
    const hundred = (await (await pushJson(api, list(100))).json()) as PushAnswer;
    const more = (await (await pushJson(api, list(101))).json()) as PushAnswer;
    expect(hundred.submission["lane"]).toBe("interactive");
    expect(hundred.documents).toHaveLength(100);
    expect(more.submission["lane"]).toBe("bulk");
    expect(more.documents).toBeNull();
    expect(more.accepted).toBe(101);
  });

  it("is accepted with the charset UTF-8, and with gzip", async () => {
    const api = await testApi();
    const packed = new Response(JSON.stringify(FRANCE)).body?.pipeThrough(new CompressionStream("gzip")) ?? null;
    const response = await api.fetch("/v1/documents", {
      method: "POST",
      body: packed,
      headers: { "content-type": 'application/json; charset="UTF-8"', "content-encoding": "gzip" },
    });
    expect(response.status).toBe(202);
  });

  it("with a document that no message can hold stages it in D1 and sends a reference", async () => {
    const api = await testApi();
    const text = "é".repeat(150_000);
    const response = await pushJson(api, { query: "q", contexts: [text] });
    const body = (await response.json()) as PushAnswer;
    expect(response.status).toBe(202);
    expect(api.messages()).toEqual([
      { v: 1, kind: "staged", submission: body.submission.id, lane: "interactive", part: 0 },
    ]);
    const staged = await env.DB.prepare("SELECT submission_id, part, body FROM staged_parts").first<{ body: string }>();
    expect(parseMessage(staged?.body)).toMatchObject({ ok: true, value: { documents: [{ contexts: [text] }] } });
    expect(await env.DB.prepare("SELECT total FROM submissions").first("total")).toBe(1);
  });

  it("of several parts numbers them from 0, keeps order, counts the total and closes", async () => {
    const api = await testApi();
    const documents = Array.from({ length: 40 }, (_, index) => ({
      id: `d${index}`,
      query: "q",
      contexts: ["x".repeat(20_000)],
    }));
    documents.splice(7, 0, { id: "big", query: "q", contexts: ["y".repeat(200_000)] });
    expect((await pushJson(api, { documents })).status).toBe(202);
    // Calls are made together, and a Queue has no order.
    const messages = api.messages().toSorted((a, b) => a.part - b.part);
    expect(messages.map((message) => message.part)).toEqual(messages.map((_, index) => index));
    const places = messages.flatMap((message) =>
      message.kind === "part" ? message.documents.map((one) => one.place) : [7],
    );
    expect(places).toEqual(documents.map((_, index) => index));
    for (const call of api.calls) {
      expect(
        call.bodies.reduce((sum, text) => sum + new TextEncoder().encode(text).length + 100, 0),
      ).toBeLessThanOrEqual(256_000);
    }
    const row = await env.DB.prepare("SELECT total, closed_at FROM submissions").first();
    expect(row).toEqual({ total: 41, closed_at: NOW });
  });

  it("hashes the text of the documents of each part", async () => {
    const api = await testApi();
    await pushJson(api, FRANCE);
    const [text = ""] = api.calls[0]?.bodies ?? [];
    const documents = text.slice(text.indexOf('"documents":[') + '"documents":['.length, -2);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(documents));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    expect(api.messages()[0]).toMatchObject({ hash: hex });
  });

  it("stores what it validated: of a repeated name, the last value", async () => {
    const api = await testApi();
    await pushJson(api, '{"id":"a","id":"b","query":"q","contexts":["c"]}');
    expect(api.messages()[0]).toMatchObject({ documents: [{ id: "b" }] });
  });
});

describe("a Queue that refuses", () => {
  const refusing = (from: number) => {
    let calls = 0;
    return {
      sendBatch: async () => {
        calls += 1;
        if (calls >= from) throw new Error("the queue is gone");
      },
    };
  };

  it("leaves the submission of a single part open, and the answer is 503 with its id", async () => {
    const api = await testApi({ queues: { interactive: refusing(1), bulk: refusing(1) } });
    const response = await pushJson(api, FRANCE);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("10");
    const row = await env.DB.prepare("SELECT id, total, closed_at FROM submissions").first<{ id: string }>();
    expect(row).toMatchObject({ total: 1, closed_at: null });
    expect(await response.json()).toMatchObject({ type: "/problems/unavailable", status: 503, submission: row?.id });
  });

  it("in the middle of a push leaves the submission open with what may have been sent", async () => {
    const api = await testApi({ queues: { interactive: refusing(2), bulk: refusing(2) } });
    const documents = Array.from({ length: 100 }, () => ({ query: "q", contexts: ["x".repeat(40_000)] }));
    const response = await pushJson(api, { documents });
    expect(response.status).toBe(503);
    const row = await env.DB.prepare("SELECT total, closed_at FROM submissions").first<{ total: number }>();
    // A call of 6 documents that succeeded, and the four calls that were made together after it.
    expect(row).toEqual({ total: 30, closed_at: null });
  });

  it("is logged without document text", async () => {
    const api = await testApi({ queues: { interactive: refusing(1), bulk: refusing(1) } });
    await pushJson(api, { query: "a secret question", contexts: ["a secret answer"] });
    expect(api.logs.map((entry) => entry.event)).toEqual(["push_not_sent"]);
    expect(JSON.stringify(api.logs)).not.toContain("secret");
  });
});

it("an unavailable D1 refuses the push with 503, and no message is sent", async () => {
  const broken = new Proxy(env.DB, {
    get(target, property) {
      if (property === "batch") return () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const retryPolicy = { tries: 1, bounded: <T>(call: () => Promise<T>) => call(), rest: async () => undefined };
  const api = await testApi({ db: openDatabase(broken, retryPolicy) });
  const response = await pushJson(api, FRANCE);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ type: "/problems/unavailable", submission: null });
  expect(api.calls).toEqual([]);
  expect(await storedRows()).toBe(0);
});
