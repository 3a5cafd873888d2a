import { MAX_JSON_BODY_BYTES } from "@sluice/core";
import { afterEach, describe, expect, it } from "vitest";
import { pushJson, pushNdjson, storedRows, testApi, type ProblemBody, type TestApi } from "./api.ts";

/** After each of these, nothing is stored and nothing was sent. */
let api: TestApi;
afterEach(async () => {
  expect(await storedRows()).toBe(0);
  expect(api.calls).toEqual([]);
});

async function refused(body: unknown, query = ""): Promise<{ status: number; problem: ProblemBody }> {
  api = await testApi();
  const response = await pushJson(api, body, query);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = (await response.json()) as ProblemBody;
  expect(problem.status).toBe(response.status);
  return { status: response.status, problem };
}

const GOOD = { query: "q", contexts: ["c"] };
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

describe("a document is refused with 422 at its place", () => {
  const cases: readonly [name: string, body: unknown, pointer: string, detail: RegExp][] = [
    ["that is a number", 7, "", /must be an object/],
    ["that is null", null, "", /must be an object/],
    ["without a query", { contexts: ["c"] }, "/query", /query must be given/],
    ["with an empty query", { query: "", contexts: ["c"] }, "/query", /must not be empty/],
    ["without contexts", { query: "q" }, "/contexts", /contexts must be given/],
    ["with empty contexts", { query: "q", contexts: [] }, "/contexts", /at least one/],
    ["with an empty context", { query: "q", contexts: ["c", ""] }, "/contexts/1", /must not be empty/],
    ["with an empty text", { query: "q", contexts: [{ text: "" }] }, "/contexts/0/text", /must not be empty/],
    ["with a context of a wrong type", { query: "q", contexts: ["c", 3] }, "/contexts/1", /string or \{ id\?, text \}/],
    ["with contexts of a wrong type", { query: "q", contexts: "c" }, "/contexts", /must be a list/],
    ["with a query of a wrong type", { query: ["q"], contexts: ["c"] }, "/query", /must be a string/],
    ["with an id of a wrong type", { ...GOOD, id: 7 }, "/id", /must be a string/],
    [
      "with a context id twice",
      {
        query: "q",
        contexts: [
          { id: "x", text: "a" },
          { id: "x", text: "b" },
        ],
      },
      "/contexts/1",
      /unique/,
    ],
    [
      "with a context id that is another's index",
      { query: "q", contexts: [{ id: "1", text: "a" }, "b"] },
      "/contexts/1",
      /unique/,
    ],
    [
      "with a context id over 512 bytes",
      { query: "q", contexts: [{ id: "é".repeat(257), text: "a" }] },
      "/contexts/0/id",
      /512 bytes/,
    ],
    ["with an empty id", { ...GOOD, id: "" }, "/id", /must not be empty/],
    ["with an id over 256 bytes", { ...GOOD, id: "é".repeat(129) }, "/id", /256 bytes/],
    ["with the id .", { ...GOOD, id: "." }, "/id", /"\." or "\.\."/],
    ["with the id ..", { ...GOOD, id: ".." }, "/id", /"\." or "\.\."/],
    ["with a control character in its id", { ...GOOD, id: "a\nb" }, "/id", /control characters/],
    ["with an unknown field", { ...GOOD, extra: 1 }, "/extra", /unknown field "extra"/],
    [
      "with a field named __proto__",
      '{"query":"q","contexts":["c"],"__proto__":{"a":1}}',
      "/__proto__",
      /unknown field/,
    ],
    [
      "with a field named constructor",
      { ...GOOD, constructor: 1 },
      "/constructor",
      /^unknown field "constructor"; allowed here: id, query, contexts, metadata$/,
    ],
    [
      "with an unknown field in a context",
      { query: "q", contexts: [{ text: "a", score: 1 }] },
      "/contexts/0/score",
      /unknown/,
    ],
    ["in another API's shape", { query: "q", documents: ["a"] }, "/documents", /rename it to "contexts"/],
    ["with half a surrogate pair in its query", '{"query":"\\ud800","contexts":["c"]}', "/query", /surrogate/],
    ["with half a surrogate pair in a text", '{"query":"q","contexts":["\\udc00"]}', "/contexts/0", /surrogate/],
    ["with NUL in its query", { query: "a\0b", contexts: ["c"] }, "/query", /NUL/],
    ["with NUL in its metadata", { ...GOOD, metadata: { a: ["\0"] } }, "/metadata/a/0", /NUL/],
    [
      "with half a surrogate pair in its metadata",
      '{"query":"q","contexts":["c"],"metadata":{"a":"\\ud800"}}',
      "/metadata/a",
      /surrogate/,
    ],
    ["with metadata that is a list", { ...GOOD, metadata: [] }, "/metadata", /must be an object/],
    ["with metadata over 4 KB", { ...GOOD, metadata: { a: "x".repeat(4_096) } }, "/metadata", /4096 bytes/],
    ["with metadata 33 deep", { ...GOOD, metadata: nested(33) }, `/metadata${"/a".repeat(32)}`, /32 levels/],
    ["over 1 MB", { query: "q", contexts: ["x".repeat(1_000_000)] }, "", /at most 1000000 bytes: it has/],
    [
      "with more than 1,000 contexts",
      { query: "q", contexts: Array.from({ length: 1_001 }, () => "c") },
      "/contexts",
      /at most 1000/,
    ],
    [
      "with millions of bad contexts",
      { query: "q", contexts: Array.from({ length: 2_000_000 }, () => 0) },
      "/contexts",
      /at most 1000/,
    ],
    ["with the model beside it", { ...GOOD, model: "@cf/baai/bge-m3" }, "/model", /option of the push/],
  ];
  it.each(cases)("%s", async (_, body, pointer, detail) => {
    const { status, problem } = await refused(body);
    expect({ status, type: problem.type }).toEqual({ status: 422, type: "/problems/invalid" });
    expect(problem.errors[0]).toEqual({ pointer, detail: expect.stringMatching(detail) });
  });

  it("whose metadata is nested a hundred thousand deep", async () => {
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const { status, problem } = await refused(`{"query":"q","contexts":["c"],"metadata":${deep}}`);
    expect(status).toBe(422);
    expect(problem.errors[0]?.detail).toMatch(/32 levels/);
  });

  it("by its number in a list, and no other document of the list is taken", async () => {
    const { status, problem } = await refused({
      documents: [GOOD, { query: "q", contexts: ["c", ""] }, GOOD, { ...GOOD, x: 1 }],
    });
    expect(status).toBe(422);
    expect(problem.errors.map((error) => error.pointer)).toEqual(["/documents/1/contexts/1", "/documents/3/x"]);
  });

  it("whose size is over 1 MB behind a list of good ones", async () => {
    const { problem } = await refused({ documents: [GOOD, { query: "q", contexts: ["é".repeat(500_001)] }] });
    expect(problem.errors[0]?.pointer).toBe("/documents/1");
  });

  it("whose id another has, naming both", async () => {
    const { status, problem } = await refused({ documents: [{ ...GOOD, id: "a" }, GOOD, { ...GOOD, id: "a" }] });
    expect(status).toBe(422);
    expect(problem.errors).toEqual([{ pointer: "/documents/2/id", detail: expect.stringContaining("/documents/0") }]);
  });

  it("beyond the model's window when inputs are not to be cut", async () => {
    const { status, problem } = await refused(
      { query: "q", contexts: ["c", "word ".repeat(9_000)] },
      "?truncate_inputs=false",
    );
    expect(status).toBe(422);
    expect(problem.errors[0]).toMatchObject({
      pointer: "/contexts/1",
      detail: expect.stringContaining("truncate_inputs"),
    });
  });

  it("with at most 20 problems told", async () => {
    const { problem } = await refused({ documents: Array.from({ length: 50 }, () => ({})) });
    expect(problem.errors).toHaveLength(20);
  });

  it("without its text in the answer", async () => {
    const { problem } = await refused({ query: "a secret question\0", contexts: ["a secret answer", "", 3] });
    expect(JSON.stringify(problem)).not.toContain("secret");
  });
});

describe("the options of a push are refused with 422 at their place", () => {
  const many = (more: object) => ({ documents: [GOOD], ...more });
  const cases: readonly [name: string, body: unknown, query: string, pointer: string, detail: RegExp][] = [
    ["an empty list", { documents: [] }, "", "/documents", /at least one/],
    ["documents of a wrong type", { documents: { a: 1 } }, "", "/documents", /must be a list/],
    ["a bare list", [GOOD], "", "", /"documents"/],
    ["an unknown model", many({ model: "@cf/other" }), "", "/model", /@cf\/baai\/bge-m3/],
    ["an unknown model in the query", GOOD, "?model=x", "?model", /@cf\/baai\/bge-m3/],
    ["an unknown lane", many({ lane: "fast" }), "", "/lane", /interactive, bulk/],
    ["a collection with a slash", many({ collection: "a/b" }), "", "/collection", /1 to 64/],
    ["the collection ..", GOOD, "?collection=..", "?collection", /"\.\."/],
    ["a collection over 64 characters", GOOD, `?collection=${"a".repeat(65)}`, "?collection", /1 to 64/],
    ["an empty collection", GOOD, "?collection=", "?collection", /1 to 64/],
    ["a label over 256 bytes", many({ label: "é".repeat(129) }), "", "/label", /256 bytes/],
    ["a label with a control character", many({ label: "a\tb" }), "", "/label", /control/],
    ["truncate_inputs that is no boolean", many({ truncate_inputs: "yes" }), "", "/truncate_inputs", /true or false/],
    [
      "truncate_inputs that is no boolean in the query",
      GOOD,
      "?truncate_inputs=1",
      "?truncate_inputs",
      /true or false/,
    ],
    [
      "an unknown option",
      many({ priority: 1 }),
      "",
      "/priority",
      /unknown field "priority"; allowed here: documents, collection, model, lane, label, truncate_inputs/,
    ],
    [
      "an unknown query parameter",
      GOOD,
      "?colection=a",
      "?colection",
      /unknown query parameter; allowed here: collection/,
    ],
    ["a parameter given twice", GOOD, "?label=a&label=a", "?label", /more than once/],
    ["a conflict between body and query", many({ collection: "a" }), "?collection=b", "/collection", /\?collection=/],
  ];
  it.each(cases)("%s", async (_, body, query, pointer, detail) => {
    const { status, problem } = await refused(body, query);
    expect({ status, type: problem.type }).toEqual({ status: 422, type: "/problems/invalid" });
    expect(problem.errors[0]).toEqual({ pointer, detail: expect.stringMatching(detail) });
  });
});

describe("a JSON body is refused", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  const push = async (body: BodyInit | ReadableStream<Uint8Array> | null, headers: Record<string, string> = {}) => {
    api = await testApi();
    const response = await api.fetch("/v1/documents", {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    return { response, problem: (await response.json()) as ProblemBody };
  };

  it("that is not JSON, with the place and without its text", async () => {
    const { response, problem } = await push('{"query":"q" "contexts"');
    expect([response.status, problem.type]).toEqual([400, "/problems/not-json"]);
    expect(problem.detail).toMatch(/at character 13/);
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

  it("of more than 10 MB, whatever its headers say, naming the limit and the way out", async () => {
    const text = new TextEncoder().encode(`{"query":"q","contexts":["c"]}${" ".repeat(MAX_JSON_BODY_BYTES)}`);
    const { response, problem } = await push(new Blob([text]).stream());
    expect([response.status, problem.type]).toEqual([413, "/problems/body-too-large"]);
    expect(problem.detail).toMatch(/10000000 bytes.*application\/x-ndjson/);
  });

  it("that unpacks to more than 10 MB", async () => {
    const packed = new Blob([new Uint8Array(50_000_000)]).stream().pipeThrough(new CompressionStream("gzip"));
    const { response } = await push(packed, { "content-encoding": "gzip" });
    expect(response.status).toBe(413);
  });

  it.each([["text/plain"], ["application/xml"], ["application/json; charset=latin1"], [""], ["multipart/form-data"]])(
    "of the type %j",
    async (type) => {
      const { response, problem } = await push(new TextEncoder().encode(JSON.stringify(GOOD)), {
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

  it("that says gzip and is not, or is cut off", async () => {
    expect((await push("{}", { "content-encoding": "gzip" })).problem.type).toBe("/problems/broken-body");
    const whole = await new Response(
      new Blob([JSON.stringify(GOOD)]).stream().pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    const { response, problem } = await push(whole.slice(0, whole.byteLength - 6), { "content-encoding": "gzip" });
    expect([response.status, problem.type]).toEqual([400, "/problems/broken-body"]);
  });
});

describe("an NDJSON push is refused", () => {
  const push = async (body: string | Uint8Array<ArrayBuffer>, query = "", headers: Record<string, string> = {}) => {
    api = await testApi();
    const response = await pushNdjson(api, body, query, headers);
    return { response, problem: (await response.json()) as ProblemBody };
  };

  it("without a line that is not blank", async () => {
    for (const body of ["", "\n\r\n  \n"]) {
      const { response, problem } = await push(body);
      expect([response.status, problem.type]).toEqual([400, "/problems/empty-body"]);
    }
  });

  it("with no acceptable line, naming each", async () => {
    const { response, problem } = await push('{"query":"q","contexts":[]}\n\nnot json\n');
    expect([response.status, problem.type]).toEqual([422, "/problems/nothing-acceptable"]);
    expect(problem.errors).toEqual([
      { line: 1, detail: expect.stringMatching(/^\/contexts: contexts must hold at least one/) },
      { line: 3, detail: "the line is not valid JSON" },
    ]);
  });

  it("with an unknown option in the query", async () => {
    const { response, problem } = await push(JSON.stringify(GOOD), "?documents=1");
    expect([response.status, problem.errors[0]?.pointer]).toEqual([422, "?documents"]);
  });

  it("that is broken gzip from its start", async () => {
    const { response, problem } = await push("not gzip", "", { "content-encoding": "gzip" });
    expect([response.status, problem.type]).toEqual([400, "/problems/broken-body"]);
  });
});
