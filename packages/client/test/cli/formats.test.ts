import { expect, test } from "vitest";
import { explain, formats, type Entry, type FormatName, type Line } from "../../src/cli/formats/index.ts";

async function convert(name: FormatName, texts: readonly (string | null)[]): Promise<Entry[]> {
  async function* lines(): AsyncGenerator<Line> {
    for (const [index, text] of texts.entries()) yield { number: index + 1, text };
  }
  const entries: Entry[] = [];
  for await (const entry of formats[name](lines())) entries.push(entry);
  return entries;
}

const found = (first: number, document: unknown, last = first) => ({ kind: "document", first, last, document });
const refused = (first: number, detail: string, last = first) => ({ kind: "refused", first, last, detail });

test("sluice: lines go out as they stand, blank ones are left out", async () => {
  expect(await convert("sluice", ['{"query":1}', "  ", "not JSON", null])).toEqual([
    found(1, '{"query":1}'),
    found(3, "not JSON"),
    refused(4, "the line holds bytes that are not UTF-8"),
  ]);
});

test("cohere: a request a line, of strings or objects, with what shapes the answer left out", async () => {
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

test.each([
  ["one request", { query: "q", documents: ["a"] }, 1],
  [
    "a list of requests",
    [
      { query: "q", documents: ["a"] },
      { query: "q", documents: ["b"] },
    ],
    2,
  ],
])("cohere: %s may stand over several lines", async (_, value, count) => {
  const lines = JSON.stringify(value, null, 2).split("\n");
  const entries = await convert("cohere", ["", ...lines]);
  expect(entries).toHaveLength(count);
  expect(entries[0]).toEqual(found(2, { query: "q", contexts: ["a"] }, lines.length + 1));
});

test("cohere: what cannot be converted is refused by its line, the others are not", async () => {
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
    refused(7, "the line holds bytes that are not UTF-8"),
  ]);
});

test("cohere: broken JSON over several lines is refused as a whole", async () => {
  expect(await convert("cohere", ["{", '  "query": "q",', "}"])).toEqual([refused(1, "the file is not valid JSON", 3)]);
});

test("voyage: custom_id becomes the document's id", async () => {
  const line = { custom_id: "r1", body: { query: "q", documents: ["a", "b"], top_k: 1, return_documents: true } };
  expect(await convert("voyage", [JSON.stringify(line)])).toEqual([
    found(1, { id: "r1", query: "q", contexts: ["a", "b"] }),
  ]);
});

test.each([
  [
    "rank_fields",
    { rank_fields: ["title"] },
    'the field "rank_fields" is not taken: there are id, query, documents; model,',
  ],
  ["a field nobody knows", { foo: 1 }, 'the field "foo" is not taken'],
  ["one of long documents", { max_tokens_per_doc: 100 }, 'the field "max_tokens_per_doc" is not taken'],
  ["truncation that is refused", { truncation: false }, "--no-truncate"],
  ["an id that is a number", { id: 7 }, "id must be a string"],
  ["a document's id that is a number", { documents: [{ id: 7, text: "a" }] }, "documents[0].id must be a string"],
  [
    "a document's other field",
    { documents: ["a", { text: "a", title: "t" }] },
    'documents[1]: the field "title" is not',
  ],
])("cohere, voyage: %s is refused, since it would be lost", async (name, more, words) => {
  const request = { query: "q", documents: ["a"], ...more };
  const [entry] = await convert("cohere", [JSON.stringify(request)]);
  expect(entry).toMatchObject({ kind: "refused", detail: expect.stringContaining(words) as string });
  if (name === "an id that is a number") return;
  const [line] = await convert("voyage", [JSON.stringify({ custom_id: "r", body: request })]);
  const inBody = words.replace("there are id, query", "there are query");
  expect(line).toMatchObject({ kind: "refused", detail: expect.stringContaining(`body: `) as string });
  expect(line).toMatchObject({ detail: expect.stringContaining(inBody) as string });
});

test("what shapes the answer of those APIs only is left out, and a batch line's own fields are known", async () => {
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
    { kind: "refused", detail: expect.stringContaining('the field "metadata" is not taken') as string },
  ]);
});

test("what the API says of a document is told in words of the file", () => {
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

test("voyage: what cannot be converted is refused by its line", async () => {
  const lines = ["{", "[]", '{"body":{}}', '{"custom_id":"r"}', '{"custom_id":"r","body":{"documents":[]}}'];
  expect(await convert("voyage", lines)).toEqual([
    refused(1, "the line is not valid JSON"),
    refused(2, "not an object with custom_id and body"),
    refused(3, "custom_id must be a string"),
    refused(4, "body must be an object with query and documents"),
    refused(5, "body: query must be a string"),
  ]);
});

const COLUMNS = "and there must be 4, with tabs between: query id, query, context id, text";

test("tsv: consecutive rows of a query id make a document", async () => {
  const rows = [
    "query id\tquery\tcontext id\ttext",
    "q1\twhat\tc1\tone",
    "q1\twhat\tc2\ttwo",
    "",
    "q2\twhy\tc1\tthree",
  ];
  expect(await convert("tsv", rows)).toEqual([
    found(
      2,
      {
        id: "q1",
        query: "what",
        contexts: [
          { id: "c1", text: "one" },
          { id: "c2", text: "two" },
        ],
      },
      3,
    ),
    found(5, { id: "q2", query: "why", contexts: [{ id: "c1", text: "three" }] }),
  ]);
});

test("tsv: a row that cannot be read spoils the document it belongs to, and no other", async () => {
  const rows = [
    "q1\twhat\tc1\tone",
    "q1\twhat",
    "q1\twhat\tc2\ttwo",
    "q2\twhy\tc1\tthree",
    "nothing",
    "q3\ta\tc1\tx",
    "q3\tb\tc2\ty",
  ];
  expect(await convert("tsv", rows)).toEqual([
    { ...refused(1, `2 columns, ${COLUMNS}`, 3), at: 2 },
    refused(5, `1 column, ${COLUMNS}`),
    found(4, { id: "q2", query: "why", contexts: [{ id: "c1", text: "three" }] }),
    { ...refused(6, "the query differs from the one above for the same query id", 7), at: 7 },
  ]);
});

test("tsv: a fifth column is no part of the text, and lines of a document with others between are known", async () => {
  expect(await convert("tsv", ["q1\twhat\tc1\tone\tmore"])).toEqual([
    refused(1, `5 columns, ${COLUMNS}; a text cannot hold tabs`),
  ]);
  expect(await convert("tsv", ["q1\twhat\tc1\tone", "", "q1\twhat\tc2\ttwo"])).toMatchObject([
    { kind: "document", first: 1, last: 3, rows: [1, 3] },
  ]);
});
