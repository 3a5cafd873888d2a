import { env } from "cloudflare:test";
import { MAX_PART_BYTES, utf8Length } from "@sluice/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NOW, pushNdjson, testApi, type ProblemBody, type TestApi } from "./api.ts";

interface PushAnswer {
  readonly submission: { readonly id: string; readonly lane: string; readonly counts: { readonly total: number } };
  readonly documents: null;
  readonly accepted: number;
  readonly rejected_count: number;
  readonly rejected: { readonly line: number; readonly detail: string }[];
}

const line = (id: string, more: object = {}) => JSON.stringify({ id, query: "q", contexts: ["c"], ...more });

async function push(body: BodyInit | ReadableStream<Uint8Array>, headers: Record<string, string> = {}) {
  const api = await testApi();
  const response = await pushNdjson(api, body, "", headers);
  expect(response.status).toBe(202);
  return { api, answer: (await response.json()) as PushAnswer };
}

function sent(api: TestApi): { readonly id: string; readonly place: number }[] {
  return api.messages().flatMap((message) => (message.kind === "part" ? message.documents : []));
}

/** The body in chunks that end at the given offsets. */
function inChunks(bytes: Uint8Array, ...cuts: number[]): ReadableStream<Uint8Array> {
  const ends = [...new Set(cuts), bytes.length].toSorted((a, b) => a - b);
  return new ReadableStream({
    start(controller) {
      let start = 0;
      for (const end of ends) {
        if (end > start) controller.enqueue(bytes.slice(start, end));
        start = end;
      }
      controller.close();
    },
  });
}

describe("an NDJSON push", () => {
  it("goes to the bulk lane, lists no ids, and is opened and closed in one written row", async () => {
    const { api, answer } = await push(`${line("a")}\n${line("b")}`);
    expect(answer).toMatchObject({ accepted: 2, documents: null, rejected_count: 0, rejected: [] });
    expect(answer.submission).toMatchObject({ lane: "bulk", counts: { total: 2 } });
    expect(api.calls.map((call) => call.lane)).toEqual(["bulk"]);
    expect(await env.DB.prepare("SELECT total, closed_at FROM submissions").first()).toEqual({
      total: 2,
      closed_at: NOW,
    });
  });

  it("accepts or refuses each line by itself: refused ones are listed, the others are sent", async () => {
    const lines = [
      line("a"),
      "nonsense",
      line("b", { query: "" }),
      "",
      line("c", { contexts: ["c", "d", ""] }),
      line("d"),
      line("a"),
    ];
    const { api, answer } = await push(lines.join("\n"));
    expect(answer.rejected).toEqual([
      { line: 2, detail: "the line is not valid JSON" },
      { line: 3, detail: "/query: query must not be empty" },
      { line: 5, detail: "/contexts/2: the context must not be empty" },
      { line: 7, detail: expect.stringMatching(/^\/id: .*earlier line/) },
    ]);
    expect(answer).toMatchObject({ accepted: 2, rejected_count: 4 });
    // The index counts refused lines, but not blank ones.
    expect(sent(api).map(({ id, place }) => [id, place])).toEqual([
      ["a", 0],
      ["d", 4],
    ]);
  });

  it("names a document without an id after its index", async () => {
    const { api, answer } = await push(`bad\n{"query":"q","contexts":["c"]}\n`);
    expect(sent(api).map((one) => one.id)).toEqual([`${answer.submission.id}-1`]);
  });

  it("reads CRLF, blank lines, a byte order mark and a last line without an ending", async () => {
    const { api, answer } = await push(`\ufeff${line("a")}\r\n\r\n \t\r\n${line("b")}\r\nbad\r\n${line("c")}`);
    expect(sent(api).map((one) => one.id)).toEqual(["a", "b", "c"]);
    expect(answer.rejected.map((one) => one.line)).toEqual([5]);
  });

  it("refuses a line that is not UTF-8 and continues", async () => {
    const bytes = new Uint8Array([
      ...new TextEncoder().encode(`${line("a")}\n"`),
      0xff,
      ...new TextEncoder().encode(`"\n${line("b")}`),
    ]);
    const { api, answer } = await push(bytes);
    expect(sent(api).map((one) => one.id)).toEqual(["a", "b"]);
    expect(answer.rejected).toEqual([{ line: 2, detail: "the line is not valid UTF-8" }]);
  });

  it("refuses a line that is too long and continues", async () => {
    const { api, answer } = await push(`${line("a")}\n${"x".repeat(3_000_001)}\n${line("b")}`);
    expect(sent(api).map((one) => one.id)).toEqual(["a", "b"]);
    expect(answer.rejected).toEqual([{ line: 2, detail: expect.stringContaining("3000000 bytes") }]);
  });

  it("accepts a document of just below 1 MB whose line uses \\u escapes", async () => {
    const text = "é".repeat(499_900);
    const { api } = await push(`{"query":"q","contexts":["${"\\u00e9".repeat(499_900)}"]}`);
    const staged = await env.DB.prepare("SELECT body FROM staged_parts").first<{ body: string }>();
    expect(api.messages()).toMatchObject([{ kind: "staged" }]);
    expect((JSON.parse(staged?.body ?? "") as { documents: { contexts: string[] }[] }).documents[0]?.contexts).toEqual([
      text,
    ]);
  });

  it("lists the first 100 refused lines and counts all of them", async () => {
    const { answer } = await push([...Array.from({ length: 150 }, () => "bad"), line("a")].join("\n"));
    expect(answer.rejected_count).toBe(150);
    expect(answer.rejected).toHaveLength(100);
  });

  it("is decompressed from gzip", async () => {
    const text = Array.from({ length: 3_000 }, (_, index) => line(`d${index}`)).join("\n");
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    const { api, answer } = await push(packed, { "content-encoding": "gzip" });
    expect(answer.accepted).toBe(3_000);
    expect(sent(api).map((one) => one.place)).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
  });

  it.each(["application/ndjson", "application/jsonl", "application/x-ndjson; charset=utf-8"])(
    "may have the type %s",
    async (type) => {
      const { answer } = await push(line("a"), { "content-type": type });
      expect(answer.accepted).toBe(1);
    },
  );

  it("reads the same documents wherever its bytes are split", async () => {
    const text = `\ufeff{"id":"é€😀","query":"ü","contexts":["日本"]}\r\nbad\n\n${line("b")}`;
    const bytes = new TextEncoder().encode(text);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const { api, answer } = await push(inChunks(bytes, cut));
      expect(sent(api)).toMatchObject([{ id: "é€😀", query: "ü", contexts: ["日本"] }, { id: "b" }]);
      expect(answer.rejected.map((one) => one.line)).toEqual([2]);
    }
  });

  it("keeps messages within 127,700 bytes and calls within 256,000, for any sizes", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.constantFrom("x", "é", "😀", '"'), async (lengths, character) => {
        const { api, answer } = await push(
          lengths.map((length, index) => line(`d${index}`, { contexts: [character.repeat(length)] })).join("\n"),
        );
        expect(answer.accepted).toBe(lengths.length);
        for (const call of api.calls) {
          const sizesOfCall = call.bodies.map((body) => utf8Length(body));
          expect(Math.max(...sizesOfCall)).toBeLessThanOrEqual(MAX_PART_BYTES);
          expect(sizesOfCall.reduce((sum, size) => sum + size + 100, 0)).toBeLessThanOrEqual(256_000);
        }
        const row = await env.DB.prepare("SELECT total, closed_at IS NOT NULL AS closed FROM submissions WHERE id = ?")
          .bind(answer.submission.id)
          .first();
        expect(row).toEqual({ total: lengths.length, closed: 1 });
      }),
      { numRuns: 25 },
    );
  });
});

it("a body that is interrupted after parts were sent leaves the submission open, and names it", async () => {
  const noise = () => Array.from(crypto.getRandomValues(new Uint8Array(10_000)), (byte) => byte.toString(16)).join("");
  const lines = Array.from({ length: 100 }, (_, index) => line(`d${index}`, { contexts: [noise()] })).join("\n");
  const whole = new Uint8Array(
    await new Response(new Blob([lines]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
  const api = await testApi();
  const response = await pushNdjson(api, whole.slice(0, whole.length - 8), "", { "content-encoding": "gzip" });
  const problem = (await response.json()) as ProblemBody;
  expect([response.status, problem.type]).toEqual([400, "/problems/broken-body"]);
  const row = await env.DB.prepare("SELECT id, total, closed_at FROM submissions").first<{
    id: string;
    total: number;
  }>();
  expect(problem.submission).toBe(row?.id);
  expect(row).toMatchObject({ closed_at: null });
  expect(row?.total).toBeGreaterThan(0);
  expect(sent(api)).toHaveLength(row?.total ?? -1);
});
