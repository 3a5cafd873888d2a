import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { readLines } from "../../src/cli/input.ts";
import { collect, documents, slowly } from "../shared/client.ts";
import { type Bench, records, TABLE, test } from "./run.ts";

const pushed = (bench: Bench) => bench.pushes().map(({ text }) => text);
const idsPushed = (bench: Bench) =>
  records(pushed(bench).at(-1) ?? "").map((document) => (document as { id: string }).id);

const REQUESTS = [
  { id: "a", query: "q", documents: ["x"] },
  { id: "b", query: 1, documents: ["x"] },
  { id: "c", query: "q", documents: ["x"] },
  { id: "d", query: "q", documents: "x" },
  { id: "e", query: "q", documents: ["x"] },
];

const HEADER = "qid\tquestion\tpid\tpassage";
const ROWS = ["q1\twhat\tc1\tone", "q2\twhy\tc1"];

test.for([
  ["on one line", undefined, ["line 1, item 2", "line 1, item 4"]],
  ["over several lines", 2, ["line 9, item 2", "line 23, item 4"]],
] as const)("of a list %s, refuses and writes only the invalid items", async ([_, indent, locations], { bench }) => {
  writeFileSync(join(bench.folder, "requests.json"), JSON.stringify(REQUESTS, null, indent));
  const { code, stderr } = await bench.run(["push", "requests.json", "--format", "cohere", ...TABLE]);
  expect(code).toBe(4);
  expect(stderr).toBe(
    "2 documents refused, written to requests.json.rejected.ndjson\n" +
      `  ${locations[0]}: query must be a string\n` +
      `  ${locations[1]}: documents must be a list of strings or of { text }\n`,
  );
  expect(idsPushed(bench)).toEqual(["a", "c", "e"]);
  expect(records(bench.read("requests.json.rejected.ndjson"))).toEqual([REQUESTS[1], REQUESTS[3]]);
  // Pushing the corrected file pushes nothing else again.
  const corrected = bench
    .read("requests.json.rejected.ndjson")
    .replace('"query":1', '"query":"q"')
    .replace(/"query": *1/, '"query":"q"')
    .replace(/"documents": *"x"/, '"documents":["x"]');
  writeFileSync(join(bench.folder, "corrected.ndjson"), corrected);
  expect((await bench.run(["push", "corrected.ndjson", "--format", "cohere"])).code).toBe(0);
  expect(idsPushed(bench)).toEqual(["b", "d"]);
});

test("pushes a JSON list and reports the position of items that the API refuses", async ({ bench }) => {
  const items = [
    '{"id":"a","query":"ça va","contexts":["x"],"metadata":{"n":1546130668394913823}}',
    '{"id":"b","query":1,"contexts":["«à»"],"metadata":{"n":1546130668394913823}}',
    '{"id":"c","query":"q","contexts":["x"]}',
    '"not a document"',
  ];
  writeFileSync(join(bench.folder, "docs.json"), `\u{feff}[${items.join(", ")}]`);
  const { code, stdout } = await bench.run(["push", "docs.json"]);
  expect(code).toBe(4);
  expect(records(stdout)).toMatchObject([
    {
      accepted: 2,
      rejected_count: 2,
      rejected: [
        { line: 1, item: 2, detail: "query must be a string" },
        { line: 1, item: 4, detail: "query must be a string" },
      ],
    },
  ]);
  expect(pushed(bench)[0]?.split("\n")[0]).toBe(items[0]);
  expect(bench.read("docs.json.rejected.ndjson")).toBe(`${items[1]}\n${items[3]}\n`);
});

test("finds refused items that the API does not list, each with its first reason", async ({ bench }) => {
  const bad = Array.from({ length: 150 }, (_, index) => ({ id: `bad${index}`, query: 1 }));
  const items = [...documents(10), ...bad, ...documents(12).slice(10)];
  writeFileSync(join(bench.folder, "docs.json"), JSON.stringify(items, null, 1));
  const { stdout } = await bench.run(["push", "docs.json"]);
  const [record] = records(stdout) as { rejected: { item: number; detail: string }[]; rejected_count: number }[];
  expect(record?.rejected_count).toBe(150);
  expect(record?.rejected.map(({ item }) => item)).toEqual(bad.map((_, index) => index + 11));
  expect(record?.rejected[0]?.detail).toBe("query must be a string");
  expect(records(bench.read("docs.json.rejected.ndjson"))).toEqual(bad);
});

test("of a truncated list, writes only the part that cannot be read", async ({ bench }) => {
  writeFileSync(join(bench.folder, "docs.json"), '[{"id":"a","query":"q","contexts":["x"]},\n {"id":"b","query":');
  const { stderr } = await bench.run(["push", "docs.json", ...TABLE]);
  expect(stderr).toContain("line 2, item 2: a bracket of the value is not closed");
  expect(bench.read("docs.json.rejected.ndjson").trim()).toBe('{"id":"b","query":');
  writeFileSync(join(bench.folder, "docs.json"), '[{"id":"a","query":"q","contexts":["x"]}');
  const closed = await bench.run(["push", "docs.json", ...TABLE]);
  expect(closed.stderr).toContain("line 1, item 2: the list is not closed");
  expect(bench.read("docs.json.rejected.ndjson")).toBe("");
});

test("refuses only the item that is not UTF-8, and writes it byte for byte", async ({ bench }) => {
  const [good, bad] = ['{"id":"a","query":"q","contexts":["x"]}', '{"id":"b","query":"caf\xe9","contexts":["à"]}'];
  const latin1 = Buffer.from(bad, "latin1");
  writeFileSync(
    join(bench.folder, "docs.json"),
    Buffer.concat([Buffer.from(`[${good},\n`), latin1, Buffer.from(`,\n${good.replace('"a"', '"c"')}]\n`)]),
  );
  const { stderr } = await bench.run(["push", "docs.json", ...TABLE]);
  expect(stderr).toContain("line 2, item 2: the line is not valid UTF-8");
  expect(idsPushed(bench)).toEqual(["a", "c"]);
  expect(readFileSync(join(bench.folder, "docs.json.rejected.ndjson"))).toEqual(
    Buffer.concat([latin1, Buffer.from("\n")]),
  );
});

test("reports a TSV header and writes it with the refused rows", async ({ bench }) => {
  bench.write("rows.tsv", [HEADER, ...ROWS]);
  const { code, stderr } = await bench.run(["push", "rows.tsv", "--format", "tsv", ...TABLE]);
  expect(code).toBe(4);
  expect(stderr.split("\n")[0]).toBe(
    "Line 1 is read as a header: qid, question, pid, passage. Use --header no to read it as data.",
  );
  expect(idsPushed(bench)).toEqual(["q1"]);
  expect(bench.read("rows.tsv.rejected.tsv")).toBe(`${HEADER}\n${ROWS[1]}\n`);
  const estimate = await bench.run(["push", "rows.tsv", "--format", "tsv", "--estimate"]);
  expect(estimate.stderr).toContain("is read as a header");
  expect(records(estimate.stdout)).toMatchObject([{ estimate: { documents: 1, refused: 1 } }]);
});

test("a first row whose query is the word Query is data", async ({ bench }) => {
  bench.write("rows.tsv", ["q1\tQuery\tc1\tone", "q2\twhy\tc1\ttwo"]);
  const { code, stderr } = await bench.run(["push", "rows.tsv", "--format", "tsv"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(idsPushed(bench)).toEqual(["q1", "q2"]);
});

test("--header decides about the first row, and works with TSV only", async ({ bench }) => {
  bench.write("rows.tsv", [HEADER, ROWS[0]]);
  const no = await bench.run(["push", "rows.tsv", "--format", "tsv", "--header", "no"]);
  expect([no.code, no.stderr]).toEqual([0, ""]);
  expect(idsPushed(bench)).toEqual(["qid", "q1"]);
  bench.write("other.tsv", ["a\tb\tc\td", ROWS[0]]);
  await bench.run(["push", "other.tsv", "--format", "tsv", "--header", "yes"]);
  expect(idsPushed(bench)).toEqual(["q1"]);
  const { code, stderr } = await bench.run(["push", "rows.tsv", "--header", "yes"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--header works only with --format tsv")]);
});

test("pushes a shell pipe like a file", async ({ bench }) => {
  bench.write("docs.ndjson", [...documents(3), "nothing"]);
  const { code, stdout } = await bench.shell("sluice push <(cat docs.ndjson)");
  expect(code).toBe(4);
  expect(records(stdout)).toMatchObject([
    { accepted: 3, rejected: [{ line: 4 }], rejected_file: "pipe.rejected.ndjson" },
  ]);
  expect(bench.read("pipe.rejected.ndjson")).toBe("nothing\n");
  const packed = await bench.shell("sluice push <(gzip -c docs.ndjson) --max-usd 1");
  expect(records(packed.stdout)).toMatchObject([{ accepted: 3, already_there: 3 }]);
});

test("pushes a named pipe like a file", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  const { stdout } = await bench.shell("mkfifo docs.fifo; cat docs.ndjson > docs.fifo & sluice push docs.fifo");
  expect(records(stdout)).toMatchObject([{ accepted: 3 }]);
});

test("refuses a line that is too long for a string, without buffering it", async () => {
  const chunks = ["short\n", "x".repeat(60), "x".repeat(60), "\nlast"].map((text) => Buffer.from(text));
  expect(await collect(readLines({ read: () => slowly(chunks) }, 100))).toEqual([
    { number: 1, text: "short" },
    { number: 2, text: null, flaw: "the line is longer than 0.0001 MB" },
    { number: 3, text: "last" },
  ]);
});
