import { expect } from "vitest";
import { documents } from "../shared/client.ts";
import { records, TABLE, test } from "./run.ts";

test("--estimate sends nothing", async ({ bench }) => {
  bench.write("docs.ndjson", [...documents(1_000, "x".repeat(400)), "{}"]);
  const { code, stdout } = await bench.run(["push", "docs.ndjson", "--estimate"]);
  const [record] = records(stdout) as { estimate: Record<string, unknown> }[];
  expect(record?.estimate).toMatchObject({ documents: 1_000, contexts: 1_000, refused: 1, tokens: 102_000, jobs: 1 });
  expect(record?.estimate["assumptions"]).toEqual([
    expect.stringContaining("a query counts again with each of its contexts"),
    expect.stringContaining("list prices"),
  ]);
  expect(code).toBe(0);
  const table = await bench.run(["push", "docs.ndjson", "--estimate", ...TABLE]);
  expect(table.stdout).toMatch(/^docs\.ndjson {2}an estimate; nothing was sent$/m);
  expect(table.stdout).toMatch(/^tokens +~102,000 {2}each context with its query$/m);
  expect(table.stdout).toContain("a token is 4 characters of English");
  expect(bench.api.received).toEqual([]);
});

test("--estimate counts the query with each of its contexts", async ({ bench }) => {
  bench.write(
    "docs.ndjson",
    Array.from({ length: 20 }, () => ({ query: "q".repeat(400), contexts: Array(100).fill("c".repeat(40)) })),
  );
  const { stdout } = await bench.run(["push", "docs.ndjson", "--estimate"]);
  expect(records(stdout)).toMatchObject([{ estimate: { tokens: 20 * 100 * (100 + 10) } }]);
  const capped = await bench.run(["push", "docs.ndjson", "--max-usd", "0.0005"]);
  expect(capped.code).toBe(5);
  expect(bench.pushes()).toEqual([]);
});

test("--max-usd sends nothing if the estimate exceeds it", async ({ bench }) => {
  bench.write("docs.ndjson", documents(1_000));
  const over = await bench.run(["push", "docs.ndjson", "--max-usd", "0.0001"]);
  expect(over).toMatchObject({ code: 5, stdout: "" });
  expect(over.stderr).toMatch(/^About \$0\.\d+ is more than --max-usd \$0\.0001\. Nothing was sent\.\n/);
  expect(over.stderr).toContain("a query counts again with each of its contexts");
  expect((await bench.run(["push", "docs.ndjson", "--max-usd", "1e-7"])).stderr).toContain("--max-usd $0.0000001");
  expect(bench.api.received).toEqual([]);
  expect((await bench.run(["push", "docs.ndjson", "--max-usd", "1"])).code).toBe(0);
});
