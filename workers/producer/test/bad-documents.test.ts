import { describe, expect, it } from "vitest";
import { refusedPushes, VALID } from "./refused-push.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

const { json: refused } = refusedPushes();

describe("a document is refused with 422 and a pointer", () => {
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
    ["with an id of a wrong type", { ...VALID, id: 7 }, "/id", /must be a string/],
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
    ["with an empty id", { ...VALID, id: "" }, "/id", /must not be empty/],
    ["with an id over 256 bytes", { ...VALID, id: "é".repeat(129) }, "/id", /256 bytes/],
    ["with the id .", { ...VALID, id: "." }, "/id", /"\." or "\.\."/],
    ["with the id ..", { ...VALID, id: ".." }, "/id", /"\." or "\.\."/],
    ["with a control character in its id", { ...VALID, id: "a\nb" }, "/id", /control characters/],
    ["with an unknown field", { ...VALID, extra: 1 }, "/extra", /unknown field "extra"/],
    [
      "with a field named __proto__",
      '{"query":"q","contexts":["c"],"__proto__":{"a":1}}',
      "/__proto__",
      /unknown field/,
    ],
    [
      "with a field named constructor",
      { ...VALID, constructor: 1 },
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
    ["with NUL in its metadata", { ...VALID, metadata: { a: ["\0"] } }, "/metadata/a/0", /NUL/],
    [
      "with half a surrogate pair in its metadata",
      '{"query":"q","contexts":["c"],"metadata":{"a":"\\ud800"}}',
      "/metadata/a",
      /surrogate/,
    ],
    ["with metadata that is a list", { ...VALID, metadata: [] }, "/metadata", /must be an object/],
    ["with metadata over 4 KB", { ...VALID, metadata: { a: "x".repeat(4_096) } }, "/metadata", /4096 bytes/],
    ["with metadata 33 deep", { ...VALID, metadata: nested(33) }, `/metadata${"/a".repeat(32)}`, /32 levels/],
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
    ["with the model beside it", { ...VALID, model: "@cf/baai/bge-m3" }, "/model", /option of the push/],
  ];
  it.each(cases)("%s", async (_, body, pointer, detail) => {
    const { status, problem } = await refused(body);
    expect({ status, type: problem.type }).toEqual({ status: 422, type: "/problems/invalid" });
    expect(problem.errors[0]).toEqual({ pointer, detail: expect.stringMatching(detail) });
  });

  it("with metadata 100,000 levels deep", async () => {
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const { status, problem } = await refused(`{"query":"q","contexts":["c"],"metadata":${deep}}`);
    expect(status).toBe(422);
    expect(problem.errors[0]?.detail).toMatch(/32 levels/);
  });

  it("by its index in a list, and no other document of the list is stored", async () => {
    const { status, problem } = await refused({
      documents: [VALID, { query: "q", contexts: ["c", ""] }, VALID, { ...VALID, x: 1 }],
    });
    expect(status).toBe(422);
    expect(problem.errors.map((error) => error.pointer)).toEqual(["/documents/1/contexts/1", "/documents/3/x"]);
  });

  it("with more than 1 MB after valid ones in a list", async () => {
    const { problem } = await refused({ documents: [VALID, { query: "q", contexts: ["é".repeat(500_001)] }] });
    expect(problem.errors[0]?.pointer).toBe("/documents/1");
  });

  it("with the id of another one, naming both", async () => {
    const { status, problem } = await refused({ documents: [{ ...VALID, id: "a" }, VALID, { ...VALID, id: "a" }] });
    expect(status).toBe(422);
    expect(problem.errors).toEqual([{ pointer: "/documents/2/id", detail: expect.stringContaining("/documents/0") }]);
  });

  it("beyond the model's window if inputs are not truncated", async () => {
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

  it("with at most 20 errors listed", async () => {
    const { problem } = await refused({ documents: Array.from({ length: 50 }, () => ({})) });
    expect(problem.errors).toHaveLength(20);
  });

  it("without repeating its text", async () => {
    const { problem } = await refused({ query: "a secret question\0", contexts: ["a secret answer", "", 3] });
    expect(JSON.stringify(problem)).not.toContain("secret");
  });
});
