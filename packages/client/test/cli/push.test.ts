import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { problem } from "../fake-api.ts";
import { documents } from "../shared/client.ts";
import { type Bench, records, TABLE, test } from "./run.ts";

const keys = (bench: Bench) => bench.pushes().map(({ headers }) => headers.get("idempotency-key"));

test("reports what happened and what to do next", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", "--label", "nightly", ...TABLE]);
  expect(stdout.replace(/in \d+\.\d s/, "in N s")).toBe(
    "Pushed 3 documents as sub_0001 in N s\n3 succeeded\n\nResults:   sluice results -- sub_0001\n",
  );
  expect([code, stderr]).toEqual([0, ""]);
  expect(bench.pushes()[0]?.url.search).toBe("?lane=interactive&label=nightly&truncate_inputs=true");
});

test("prints one record into a pipe", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  const { code, stdout, stderr } = await bench.spawn(["push", "docs.ndjson"]);
  expect(records(stdout)).toMatchObject([
    {
      submissions: [{ id: "sub_0001", status: "completed", counts: { succeeded: 3 } }],
      accepted: 3,
      already_there: 0,
      rejected_count: 0,
      rejected: [],
      rejected_file: null,
      idempotency_key: keys(bench)[0],
    },
  ]);
  expect([code, stderr]).toEqual([0, ""]);
});

test("writes refused lines unchanged to a file, and scores the others", async ({ bench }) => {
  const lines = ['{"query":"q","contexts":["a"]}', "", "not JSON", '{"query":"q","contexts":["b"]}', '{"query": 1}'];
  bench.write("docs.ndjson", lines);
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(4);
  expect(bench.read("docs.ndjson.rejected.ndjson")).toBe('not JSON\n{"query": 1}\n');
  expect(stderr).toBe(
    "2 lines refused, written to docs.ndjson.rejected.ndjson\n" +
      "  line 3: query must be a string\n  line 5: query must be a string\n",
  );
  expect(stdout).toContain("2 succeeded");
});

test("finds refused lines that the API does not list", async ({ bench }) => {
  bench.write("docs.ndjson", [
    ...documents(10),
    ...Array.from({ length: 150 }, (_, index) => ({ id: `bad${index}`, query: 1 })),
    ...documents(12).slice(10),
  ]);
  const { code, stdout } = await bench.run(["push", "docs.ndjson"]);
  expect(code).toBe(4);
  const [record] = records(stdout) as { rejected: { line: number }[]; rejected_count: number }[];
  expect(record?.rejected_count).toBe(150);
  expect(record?.rejected.map(({ line }) => line)).toEqual(Array.from({ length: 150 }, (_, index) => index + 11));
  expect(bench.read("docs.ndjson.rejected.ndjson").split("\n")).toHaveLength(151);
});

test("reports every line of a file without valid documents", async ({ bench }) => {
  bench.write("docs.ndjson", ["{}", "[]"]);
  const { code, stderr } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(4);
  expect(stderr).toContain("2 lines refused, written to docs.ndjson.rejected.ndjson");
});

test("fails if a document fails", async ({ bench }) => {
  bench.write("docs.ndjson", [{ query: "fail", contexts: ["a"] }, ...documents(2)]);
  const { code, stdout } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(3);
  expect(stdout).toContain("2 succeeded · 1 failed (model_error 1)");
  expect(stdout).toContain("sluice results --status failed -- sub_0001");
});

test("the same file repeats a push; other options or content start a new one", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  const again = await bench.run(["push", "docs.ndjson", "--no-wait", ...TABLE]);
  expect(again.stdout).toContain("All 3 documents in docs.ndjson were already pushed as sub_0001.");
  await bench.run(["push", "docs.ndjson", "--no-wait", "--collection", "other"]);
  bench.write("docs.ndjson", documents(4));
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  await bench.run(["push", "docs.ndjson", "--no-wait", "--key", "mine"]);
  expect(keys(bench)[0]).toMatch(/^file-[0-9a-f]{40}$/);
  expect(keys(bench)[1]).toBe(keys(bench)[0]);
  expect(new Set(keys(bench)).size).toBe(4);
  expect(keys(bench).at(-1)).toBe("mine");
});

test("--no-wait exits once everything is sent", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  const { code, stdout } = await bench.run(["push", "docs.ndjson", "--no-wait", ...TABLE]);
  expect(stdout).toContain("Follow it:   sluice status -- sub_0001");
  expect(code).toBe(0);
  expect(bench.api.received).toHaveLength(1);
});

test("shows the current state of a file that was pushed before", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  await bench.run(["push", "docs.ndjson"]);
  const { stdout } = await bench.run(["push", "docs.ndjson", "--no-wait"]);
  expect(records(stdout)).toMatchObject([
    { already_there: 3, submissions: [{ status: "completed", counts: { queued: 0, succeeded: 3 } }] },
  ]);
});

test.for([[[]], [["--no-wait"]]] as const)("pushes with a key that may not read (%j)", async ([more], { bench }) => {
  bench.write("docs.ndjson", documents(3));
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  bench.api.instead.push((request) => {
    const answer = bench.api.fetch(request.url, request);
    bench.api.instead.push(() => problem(403, "forbidden"));
    return answer;
  });
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", ...more]);
  expect(records(stdout)).toMatchObject([{ accepted: 3, already_there: 3, submissions: [{ status: "queued" }] }]);
  expect(stderr).toMatch(more.length === 0 ? /^Everything was sent\. The key lacks the read scope/ : /^$/);
  expect(code).toBe(0);
});

test("reports a push that is refused as a whole", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  bench.api.instead.push(() =>
    problem(422, "invalid", { errors: [{ pointer: "?model", detail: "must be one of: x" }] }),
  );
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(code).toBe(1);
  expect(stderr).toBe("Detail of invalid.\n  ?model: must be one of: x\n");
  expect(existsSync(join(bench.folder, "docs.ndjson.rejected.ndjson"))).toBe(false);
});
