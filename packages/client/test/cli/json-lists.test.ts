import { expect, test } from "vitest";
import { convert, found, refused } from "./convert.ts";

const REQUESTS = [
  { query: "q", documents: ["a"] },
  { query: 1, documents: ["b"] },
  { query: "q", documents: ["c"] },
];

test("cohere: reads a request that spans lines", async () => {
  const lines = JSON.stringify({ query: "q", documents: ["a"] }, null, 2).split("\n");
  expect(await convert("cohere", ["", ...lines])).toEqual([
    found(2, { query: "q", contexts: ["a"] }, lines.length + 1),
  ]);
  const twice = await convert("cohere", [...lines, ...lines]);
  expect(twice.map(({ first, last }) => [first, last])).toEqual([
    [1, lines.length],
    [lines.length + 1, 2 * lines.length],
  ]);
});

test.each(["cohere", "voyage"] as const)("%s: reads each item of a list on one line as a document", async (name) => {
  const items = name === "cohere" ? REQUESTS : REQUESTS.map((body, index) => ({ custom_id: `r${index}`, body }));
  const entries = await convert(name, [JSON.stringify(items), "", JSON.stringify(items)]);
  expect(entries.map(({ kind, first, index }) => [kind, first, index])).toEqual([
    ["document", 1, 0],
    ["refused", 1, 1],
    ["document", 1, 2],
    ["document", 3, 0],
    ["refused", 3, 1],
    ["document", 3, 2],
  ]);
});

test("cohere: reads each item of a list over several lines as a document", async () => {
  const lines = JSON.stringify(REQUESTS, null, 2).split("\n");
  const entries = await convert("cohere", ["", ...lines]);
  expect(entries).toEqual([
    { ...found(3, { query: "q", contexts: ["a"] }, 8), index: 0 },
    { ...refused(9, "query must be a string", 14), index: 1 },
    { ...found(15, { query: "q", contexts: ["c"] }, 20), index: 2 },
  ]);
});

test("cohere: refuses only the invalid item of a list", async () => {
  const entries = await convert("cohere", [
    "[",
    '  {"query":"q","documents":["a"]},',
    '  {"query":"un"closed","documents":["a"]},',
    '  {"query":"q","documents":["a]"]},',
    '  {"query":"q","documents":["b"]}',
    "]",
  ]);
  expect(entries.map(({ kind, first, index }) => [kind, first, index])).toEqual([
    ["document", 2, 0],
    ["refused", 3, 1],
    ["document", 4, 2],
    ["document", 5, 3],
  ]);
});

test.each([
  ["a list that is not closed", ["[", '{"query":"q","documents":["a"]},'], 3, "the list is not closed"],
  ["a value that is not closed", ["[", '{"query":"q","documents":["a"],'], 2, "a bracket of the value is not closed"],
  ["an empty list", ["[]"], 1, "the list is empty"],
])("cohere: refuses %s", async (_, lines, first, detail) => {
  const entries = await convert("cohere", lines);
  expect(entries.at(-1)).toMatchObject({ kind: "refused", first: Math.min(first, lines.length), detail });
});

test("sluice: splits a JSON list into items without changing them", async () => {
  const items = [
    '{"query":"a,]}","contexts":["x"],"metadata":{"n":1546130668394913823}}',
    '{"query":"b","contexts":["y"]}',
  ];
  const entries = [
    { ...found(1, items[0]), index: 0 },
    { ...found(1, items[1]), index: 1 },
  ];
  expect(await convert("sluice", [`[${items.join(", ")}]`])).toEqual(entries);
  expect(await convert("sluice", [`[${items[0]},`, ` ${items[1]}]`])).toEqual([
    entries[0],
    { ...found(2, items[1]), index: 1 },
  ]);
  const pretty = JSON.stringify([{ query: "a", contexts: ["x"] }], null, 2).split("\n");
  const [entry] = await convert("sluice", pretty);
  expect(entry).toMatchObject({ kind: "document", first: 2, last: pretty.length - 1, index: 0 });
  expect(JSON.parse(entry?.kind === "document" ? (entry.document as string) : "")).toEqual({
    query: "a",
    contexts: ["x"],
  });
});

test("sluice: an invalid first line does not swallow the others", async () => {
  const lines = ['{"query":"unclosed', '{"query":"b","contexts":["y"]}'];
  expect(await convert("sluice", lines)).toEqual([found(1, lines[0]), found(2, lines[1])]);
});

test("cohere: refuses invalid JSON over several lines as a whole", async () => {
  expect(await convert("cohere", ["{", '  "query": "q",', "}"])).toEqual([
    refused(1, "the value is not valid JSON", 3),
  ]);
});
