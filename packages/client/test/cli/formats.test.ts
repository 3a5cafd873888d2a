import { expect, test } from "vitest";
import { Checker } from "../../src/cli/check.ts";
import { explain } from "../../src/cli/formats/index.ts";
import { convert, found, refused } from "./convert.ts";

test("sluice: sends lines unchanged and skips blank ones", async () => {
  expect(await convert("sluice", ['{"query":1}', "  ", "not JSON", null])).toEqual([
    found(1, '{"query":1}'),
    found(3, "not JSON"),
    refused(4, "the line is not valid UTF-8"),
  ]);
});

test("cohere: reads a request per line and ignores fields that shape the answer", async () => {
  const request = {
    model: "rerank-v3.5",
    query: "q",
    documents: ["a", { text: "b" }, { id: "c3", text: "c" }],
    top_n: 2,
  };
  expect(
    await convert("cohere", [JSON.stringify(request), "", JSON.stringify({ id: "r2", query: "q", documents: ["a"] })]),
  ).toEqual([
    found(1, { query: "q", contexts: ["a", "b", { id: "c3", text: "c" }] }),
    found(3, { id: "r2", query: "q", contexts: ["a"] }),
  ]);
});

test("sluice: refuses a document larger than the API accepts", async () => {
  const [entry] = await convert("sluice", [`{"query":"${"x".repeat(3_000_000)}"}`]);
  expect(entry).toEqual(refused(1, "the document is larger than 3000000 bytes as JSON; the limit is 1000000"));
});

test("cohere: refuses only the lines that cannot be converted", async () => {
  const lines = [
    '{"query":"q","documents":["a"]}',
    "{",
    '{"documents":[]}',
    '{"query":"q","documents":[1]}',
    '{"query":"q"}',
    "7",
    null,
  ];
  expect((await convert("cohere", lines)).slice(1)).toEqual([
    refused(2, "the line is not valid JSON"),
    refused(3, "query must be a string"),
    refused(4, "documents[0] must be a string or { text }"),
    refused(5, "documents must be a list of strings or of { text }"),
    refused(6, "not an object with query and documents"),
    refused(7, "the line is not valid UTF-8"),
  ]);
});

test("voyage: uses custom_id as the document's id", async () => {
  const line = { custom_id: "r1", body: { query: "q", documents: ["a", "b"], top_k: 1, return_documents: true } };
  expect(await convert("voyage", [JSON.stringify(line)])).toEqual([
    found(1, { id: "r1", query: "q", contexts: ["a", "b"] }),
  ]);
});

test.each([
  [
    "rank_fields",
    { rank_fields: ["title"] },
    'the field "rank_fields" is not supported; supported: id, query, documents; model,',
  ],
  ["an unknown field", { foo: 1 }, 'the field "foo" is not supported'],
  ["a field for long documents", { max_tokens_per_doc: 100 }, 'the field "max_tokens_per_doc" is not supported'],
  ["truncation set to false", { truncation: false }, "--no-truncate"],
  ["an id that is a number", { id: 7 }, "id must be a string"],
  ["a document's id that is a number", { documents: [{ id: 7, text: "a" }] }, "documents[0].id must be a string"],
  [
    "an unknown field of a document",
    { documents: ["a", { text: "a", title: "t" }] },
    'documents[1]: the field "title" is not',
  ],
])("cohere, voyage: refuses %s instead of losing it", async (name, more, words) => {
  const request = { query: "q", documents: ["a"], ...more };
  const [entry] = await convert("cohere", [JSON.stringify(request)]);
  expect(entry).toMatchObject({ kind: "refused", detail: expect.stringContaining(words) as string });
  if (name === "an id that is a number") return;
  const [line] = await convert("voyage", [JSON.stringify({ custom_id: "r", body: request })]);
  const inBody = words.replace("supported: id, query", "supported: query");
  expect(line).toMatchObject({ kind: "refused", detail: expect.stringContaining(`body: `) as string });
  expect(line).toMatchObject({ detail: expect.stringContaining(inBody) as string });
});

test("cohere, voyage: ignores fields that shape the answer or belong to a batch line", async () => {
  const request = {
    query: "q",
    documents: ["a"],
    model: "m",
    top_n: 1,
    top_k: 1,
    return_documents: true,
    priority: 0,
    truncation: true,
  };
  expect(await convert("cohere", [JSON.stringify(request)])).toEqual([found(1, { query: "q", contexts: ["a"] })]);
  const line = { custom_id: "r", method: "POST", url: "/v1/rerank", body: request };
  expect(await convert("voyage", [JSON.stringify(line)])).toEqual([found(1, { id: "r", query: "q", contexts: ["a"] })]);
  expect(await convert("voyage", [JSON.stringify({ ...line, metadata: {} })])).toMatchObject([
    { kind: "refused", detail: expect.stringContaining('the field "metadata" is not supported') as string },
  ]);
});

test("rewrites the API's errors in terms of the file", () => {
  const said = "/contexts/1/text: must not be empty; /id: is too long";
  expect(explain("sluice", { first: 4, last: 4 }, said)).toEqual({ detail: said });
  expect(explain("cohere", { first: 4, last: 4 }, said).detail).toBe(
    "/documents/1/text: must not be empty; /id: is too long",
  );
  expect(explain("voyage", { first: 4, last: 4 }, said).detail).toBe(
    "/body/documents/1/text: must not be empty; /custom_id: is too long",
  );
  expect(explain("tsv", { first: 4, last: 6 }, said)).toEqual({
    detail: "column text: must not be empty; line 4, column query id: is too long",
    at: 5,
  });
  expect(explain("tsv", { first: 4, last: 9, rows: [4, 9] }, "/contexts/1/id: twice")).toEqual({
    detail: "column context id: twice",
    at: 9,
  });
  expect(explain("tsv", { first: 4, last: 4 }, "/contexts/0: the context is too long")).toEqual({
    detail: "the context is too long",
    at: 4,
  });
  expect(explain("tsv", { first: 4, last: 4 }, "too big")).toEqual({ detail: "too big", at: 4 });
});

test("explains how to extract the documents from the body of a JSON push", () => {
  const body = '{"documents":[{"query":"q","contexts":["a"]}],"label":"l"}';
  const entry = { kind: "document", first: 1, last: 1, document: body } as const;
  const checked = new Checker({ truncateInputs: true }).check(entry);
  expect(checked.ok ? null : explain("sluice", entry, checked.detail)).toEqual({
    detail:
      "this is the body of a JSON push, not a document: jq -c '.documents[]' extracts its documents, one per line",
  });
});

test("voyage: refuses lines that cannot be converted", async () => {
  const lines = ["{", "7", '{"body":{}}', '{"custom_id":"r"}', '{"custom_id":"r","body":{"documents":[]}}'];
  expect(await convert("voyage", lines)).toEqual([
    refused(1, "the line is not valid JSON"),
    refused(2, "not an object with custom_id and body"),
    refused(3, "custom_id must be a string"),
    refused(4, "body must be an object with query and documents"),
    refused(5, "body: query must be a string"),
  ]);
});
