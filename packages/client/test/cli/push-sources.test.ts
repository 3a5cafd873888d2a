import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { problem } from "../fake-api.ts";
import { documents } from "../shared/client.ts";
import { records, TABLE, test } from "./run.ts";

test("pushes standard input like a file", async ({ bench }) => {
  const lines = documents(3).map((document) => `${JSON.stringify(document)}\n`);
  const { code, stdout } = await bench.spawn(["push", "-"], [...lines, "nothing\n"].join(""));
  expect(code).toBe(4);
  expect(records(stdout)).toMatchObject([
    { accepted: 3, rejected: [{ line: 4, item: null }], rejected_file: "stdin.rejected.ndjson" },
  ]);
  expect(bench.read("stdin.rejected.ndjson")).toBe("nothing\n");
});

test("unpacks gzip from standard input", async ({ bench }) => {
  const lines = documents(3).map((document) => `${JSON.stringify(document)}\n`);
  const packed = gzipSync(lines.join(""));
  const piped = await bench.run(["push", "-"], packed);
  expect(records(piped.stdout)).toMatchObject([{ accepted: 3, rejected: [] }]);
  writeFileSync(join(bench.folder, "docs.ndjson"), packed);
  const { stdout } = await bench.run(["push", "docs.ndjson"]);
  // The same content is the same push.
  expect(records(stdout)).toMatchObject([{ accepted: 3, already_there: 3 }]);
});

test("reports a truncated gzip file", async ({ bench }) => {
  const packed = gzipSync(
    documents(3)
      .map((document) => `${JSON.stringify(document)}\n`)
      .join(""),
  );
  const { code, stderr } = await bench.run(["push", "-"], packed.subarray(0, -9));
  expect([code, stderr]).toEqual([1, "stdin cannot be unpacked: it is truncated or not gzip (Z_BUF_ERROR)\n"]);
  const keyed = await bench.run(["push", "-", "--key", "k"], packed.subarray(0, -9));
  expect([keyed.code, keyed.stderr]).toEqual([code, stderr]);
});

test("reports a file without documents", async ({ bench }) => {
  bench.write("empty.ndjson", []);
  bench.api.instead.push(() => problem(400, "empty-body"));
  const { code, stderr } = await bench.run(["push", "empty.ndjson"]);
  expect([code, stderr]).toEqual([1, "empty.ndjson has no documents. Nothing was pushed.\n"]);
});

test("converts other formats, and refuses lines that cannot be converted", async ({ bench }) => {
  bench.write("batch.jsonl", [
    { custom_id: "r1", body: { query: "q", documents: ["a", { text: "b" }], model: "rerank-2", top_k: 1 } },
    { custom_id: "r2", body: { query: "q" } },
  ]);
  const { code, stderr } = await bench.run(["push", "batch.jsonl", "--format", "voyage", ...TABLE]);
  expect(bench.pushes()[0]?.text).toBe('{"id":"r1","query":"q","contexts":["a","b"]}\n');
  expect(stderr).toContain("line 2: body: documents must be a list of strings or of { text }");
  expect(bench.read("batch.jsonl.rejected.ndjson")).toBe('{"custom_id":"r2","body":{"query":"q"}}\n');
  expect(code).toBe(4);
});

test("reports every line of a file that cannot be converted", async ({ bench }) => {
  bench.write("batch.jsonl", [{ custom_id: 1 }]);
  bench.api.instead.push(() => problem(400, "empty-body"));
  const { code, stderr } = await bench.run(["push", "batch.jsonl", "--format", "voyage", ...TABLE]);
  expect(stderr).toContain("1 line refused, written to batch.jsonl.rejected.ndjson");
  expect(code).toBe(4);
});

test("writes refused TSV rows as rows", async ({ bench }) => {
  bench.write("rows.tsv", ["q1\twhat\tc1\tone", "q2\twhy\tc1", "q1\twhat\tc2\ttwo"]);
  const { code, stderr } = await bench.run(["push", "rows.tsv", "--format", "tsv", ...TABLE]);
  expect([code, stderr]).toEqual([
    4,
    expect.stringMatching(/\n {2}line 2: 3 columns, expected 4 separated by tabs: .*\n$/),
  ]);
  expect(bench.read("rows.tsv.rejected.tsv")).toBe("q2\twhy\tc1\n");
});

test("reports a missing file", async ({ bench }) => {
  expect(await bench.run(["push", "nothing.ndjson"])).toEqual({
    code: 1,
    stdout: "",
    stderr: "nothing.ndjson cannot be read: no such file\n",
  });
});
