import { MAX_JSON_BODY_BYTES } from "@sluice/core";
import { describe, expect, it } from "vitest";
import { refusedPushes, VALID } from "./refused-push.ts";

const refused = refusedPushes();

describe("a JSON body is refused", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  const push = (body: BodyInit | ReadableStream<Uint8Array> | null, headers: Record<string, string> = {}) =>
    refused.body(body, { "content-type": "application/json", ...headers });

  it("that is not JSON, with the position and without its text", async () => {
    const { response, problem } = await push('{"query":"q" "contexts"');
    expect([response.status, problem.type]).toEqual([400, "/problems/not-json"]);
    expect(problem.detail).toBe("The body is not valid JSON at character 14.");
    const other = await push('{"secret":secret}');
    expect(other.problem.detail).toBe("The body is not valid JSON.");
  });

  it.each([
    ["nothing at all", null],
    ["no bytes", ""],
    ["only blanks", " \n "],
  ])("that is empty: %s", async (_, body) => {
    const { response, problem } = await push(body);
    expect([response.status, problem.type]).toEqual([400, "/problems/empty-body"]);
  });

  it("that is not UTF-8", async () => {
    const { response, problem } = await push(bytes(0x22, 0xff, 0x22));
    expect([response.status, problem.type]).toEqual([400, "/problems/not-utf8"]);
    expect((await push(bytes(0x22, 0xc3))).problem.type).toBe("/problems/not-utf8");
  });

  it("of more than 10 MB, whatever its headers say, with the limit and the alternative", async () => {
    const text = new TextEncoder().encode(`{"query":"q","contexts":["c"]}${" ".repeat(MAX_JSON_BODY_BYTES)}`);
    const { response, problem } = await push(new Blob([text]).stream());
    expect([response.status, problem.type]).toEqual([413, "/problems/body-too-large"]);
    expect(problem.detail).toMatch(/10000000 bytes.*application\/x-ndjson/);
  });

  it("that decompresses to more than 10 MB", async () => {
    const packed = new Blob([new Uint8Array(50_000_000)]).stream().pipeThrough(new CompressionStream("gzip"));
    const { response } = await push(packed, { "content-encoding": "gzip" });
    expect(response.status).toBe(413);
  });

  it.each([["text/plain"], ["application/xml"], ["application/json; charset=latin1"], [""], ["multipart/form-data"]])(
    "of the type %j",
    async (type) => {
      const { response, problem } = await push(new TextEncoder().encode(JSON.stringify(VALID)), {
        "content-type": type,
      });
      expect([response.status, problem.type]).toEqual([415, "/problems/unsupported-media-type"]);
      expect(problem.detail).toContain("application/json");
    },
  );

  it("in another encoding than gzip", async () => {
    const { response, problem } = await push("{}", { "content-encoding": "br" });
    expect([response.status, problem.type]).toEqual([415, "/problems/unsupported-media-type"]);
  });

  it("that is not the gzip it claims to be, or is cut off", async () => {
    expect((await push("{}", { "content-encoding": "gzip" })).problem.type).toBe("/problems/broken-body");
    const whole = await new Response(
      new Blob([JSON.stringify(VALID)]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    const { response, problem } = await push(whole.slice(0, whole.byteLength - 6), { "content-encoding": "gzip" });
    expect([response.status, problem.type]).toEqual([400, "/problems/broken-body"]);
  });
});

describe("an NDJSON push is refused", () => {
  const push = (body: string, query = "", headers: Record<string, string> = {}) =>
    refused.body(body, { "content-type": "application/x-ndjson", ...headers }, query);

  it("with only blank lines", async () => {
    for (const body of ["", "\n\r\n  \n"]) {
      const { response, problem } = await push(body);
      expect([response.status, problem.type]).toEqual([400, "/problems/empty-body"]);
    }
  });

  it("without a valid line, listing each", async () => {
    const { response, problem } = await push('{"query":"q","contexts":[]}\n\nnot json\n');
    expect([response.status, problem.type]).toEqual([422, "/problems/nothing-acceptable"]);
    expect(problem.errors).toEqual([
      { line: 1, detail: expect.stringMatching(/^\/contexts: contexts must contain at least one/) },
      { line: 3, detail: "the line is not valid JSON" },
    ]);
  });

  it.each([
    [1, 1, "The only line has no valid document: errors says why."],
    [2, 2, "None of the 2 lines has a valid document: errors says why."],
    [101, 100, "None of the 101 lines has a valid document: errors says why, for the first 100."],
  ])("without a valid line: of %i, %i are listed", async (number, listed, detail) => {
    const { problem } = await push("bad\n".repeat(number));
    expect([problem.errors.length, problem.detail]).toEqual([listed, detail]);
  });

  it("with an unknown option in the query", async () => {
    const { response, problem } = await push(JSON.stringify(VALID), "?documents=1");
    expect([response.status, problem.errors[0]?.pointer]).toEqual([422, "?documents"]);
  });

  it("that is not gzip from its start", async () => {
    const { response, problem } = await push("not gzip", "", { "content-encoding": "gzip" });
    expect([response.status, problem.type]).toEqual([400, "/problems/broken-body"]);
  });
});
