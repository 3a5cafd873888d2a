import { expect, test } from "vitest";
import { formats, type Entry, type FormatName, type Line } from "../../src/cli/formats/index.ts";

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

test("tsv: consecutive rows of a query id make a document, tabs in the text are kept", async () => {
  const rows = [
    "query id\tquery\tcontext id\ttext",
    "q1\twhat\tc1\tone",
    "q1\twhat\tc2\ttwo\tand more",
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
          { id: "c2", text: "two\tand more" },
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
    refused(1, "line 2: 2 of the columns query id, query, context id, text", 3),
    refused(5, "1 of the columns query id, query, context id, text"),
    found(4, { id: "q2", query: "why", contexts: [{ id: "c1", text: "three" }] }),
    refused(6, "line 7: the query differs from the one above for the same query id", 7),
  ]);
});
