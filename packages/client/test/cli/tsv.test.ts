import { expect, test } from "vitest";
import { convert, found, refused } from "./convert.ts";

const ROW = "q1\tQuery\tc1\tone";

const COLUMNS = "expected 4 separated by tabs: query id, query, context id, text";

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
