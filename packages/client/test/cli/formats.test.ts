import { expect, test } from "vitest";
import { Checker } from "../../src/cli/check.ts";
import {
  explain,
  formats,
  type Entry,
  type FormatName,
  type FormatOptions,
  type Line,
} from "../../src/cli/formats/index.ts";

async function convert(
  name: FormatName,
  texts: readonly (string | null)[],
  options: FormatOptions = {},
): Promise<Entry[]> {
  async function* lines(): AsyncGenerator<Line> {
    for (const [index, text] of texts.entries()) yield { number: index + 1, text };
  }
  const entries: Entry[] = [];
  for await (const entry of formats[name](lines(), options)) entries.push(entry);
  return entries;
}

const found = (first: number, document: unknown, last = first) => ({ kind: "document", first, last, document });
const refused = (first: number, detail: string, last = first) => ({ kind: "refused", first, last, detail });

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

const REQUESTS = [
  { query: "q", documents: ["a"] },
  { query: 1, documents: ["b"] },
  { query: "q", documents: ["c"] },
];

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

test("cohere: refuses invalid JSON over several lines as a whole", async () => {
  expect(await convert("cohere", ["{", '  "query": "q",', "}"])).toEqual([
    refused(1, "the value is not valid JSON", 3),
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

const ROW = "q1\tQuery\tc1\tone";

test("tsv: a first row is a header only if all its cells are column names", async () => {
  const reported: unknown[] = [];
  const onHeader = (header: unknown) => reported.push(header);
  const data = { kind: "document", document: { id: "q1", query: "Query" } };
  expect(await convert("tsv", [ROW], { onHeader })).toMatchObject([data]);
  expect(await convert("tsv", ["id\tquery\tno\ttext", ROW], { onHeader })).toHaveLength(2);
  expect(reported).toEqual([]);
  const header = "qid\tquestion\tpid\tpassage";
  expect(await convert("tsv", ["", header, ROW], { onHeader })).toMatchObject([data]);
  expect(await convert("tsv", ["Query_ID\tQUERY\tContext-Id\tText", ROW], { onHeader })).toMatchObject([data]);
  expect(reported).toEqual([
    { line: 2, names: ["qid", "question", "pid", "passage"] },
    { line: 1, names: ["Query_ID", "QUERY", "Context-Id", "Text"] },
  ]);
});

test("tsv: --header overrides the detection", async () => {
  const header = "qid\tquestion\tpid\tpassage";
  expect(await convert("tsv", [header], { header: "no" })).toMatchObject([{ document: { id: "qid" } }]);
  const rows = ["a\tb\tc\td", ROW, "q2\tq\tc\tt"];
  expect(await convert("tsv", rows, { header: "yes" })).toMatchObject([
    { document: { id: "q1" } },
    { document: { id: "q2" } },
  ]);
});

test("tsv: reads a header with the columns in another order", async () => {
  expect(await convert("tsv", ["qid\tpid\tquery\tpassage", "q1\tc1\twhat\tone"])).toMatchObject([
    { document: { id: "q1", query: "what", contexts: [{ id: "c1", text: "one" }] } },
  ]);
});

test.each([
  ["qid\tpid\tquery\tpassage_de", "q1\tc1\twhat\tone"],
  ["text\tsource\tq\ttopic", "one\tc1\twhat\tq1"],
  ["a\tb\tc\tquery", "q1\tc1\tone\twhat"],
  ["query\tquery\tpid\ttext", "q1\twhat\tc1\tone"],
  ["text\tb\tc", "q1\twhat\tc1\tone"],
  ["a\tb\tc\td", "q1\twhat\tc1\tone"],
])("tsv: with --header yes, unknown names in %j take the remaining columns", async (header, row) => {
  expect(await convert("tsv", [header, row], { header: "yes" })).toMatchObject([
    { document: { id: "q1", query: "what", contexts: [{ id: "c1", text: "one" }] } },
  ]);
});

const COLUMNS = "expected 4 separated by tabs: query id, query, context id, text";

test("tsv: consecutive rows with the same query id form a document", async () => {
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

test("tsv: an unreadable row refuses its document and no other", async () => {
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
    { ...refused(6, "the query differs from that of an earlier row with the same query id", 7), at: 7 },
  ]);
});

test("tsv: refuses a fifth column, and locates rows separated by blank lines", async () => {
  expect(await convert("tsv", ["q1\twhat\tc1\tone\tmore"])).toEqual([
    refused(1, `5 columns, ${COLUMNS}; a text cannot contain tabs`),
  ]);
  expect(await convert("tsv", ["q1\twhat\tc1\tone", "", "q1\twhat\tc2\ttwo"])).toMatchObject([
    { kind: "document", first: 1, last: 3, rows: [1, 3] },
  ]);
});
