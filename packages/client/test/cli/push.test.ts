import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { problem } from "../fake-api.ts";
import { documents } from "../shared/client.ts";
import { Bench, records } from "./run.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.stop());

const TABLE = ["-o", "table"];
const read = (name: string) => readFileSync(join(bench.folder, name), "utf8");
const pushes = () => bench.api.received.filter(({ method }) => method === "POST");
const keys = () => pushes().map(({ headers }) => headers.get("idempotency-key"));

test("reports what happened and what to do next", async () => {
  bench.write("docs.ndjson", documents(3));
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", "--label", "nightly", ...TABLE]);
  expect(stdout.replace(/in \d+\.\d s/, "in N s")).toBe(
    "Pushed 3 documents as sub_0001 in N s\n3 succeeded\n\nResults:   sluice results -- sub_0001\n",
  );
  expect([code, stderr]).toEqual([0, ""]);
  expect(pushes()[0]?.url.search).toBe("?lane=interactive&label=nightly&truncate_inputs=true");
});

test("prints one record into a pipe", async () => {
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
      idempotency_key: keys()[0],
    },
  ]);
  expect([code, stderr]).toEqual([0, ""]);
});

test("writes refused lines unchanged to a file, and scores the others", async () => {
  const lines = ['{"query":"q","contexts":["a"]}', "", "not JSON", '{"query":"q","contexts":["b"]}', '{"query": 1}'];
  bench.write("docs.ndjson", lines);
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(4);
  expect(read("docs.ndjson.rejected.ndjson")).toBe('not JSON\n{"query": 1}\n');
  expect(stderr).toBe(
    "2 lines refused, written to docs.ndjson.rejected.ndjson\n" +
      "  line 3: query must be a string\n  line 5: query must be a string\n",
  );
  expect(stdout).toContain("2 succeeded");
});

test("finds refused lines that the API does not list", async () => {
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
  expect(read("docs.ndjson.rejected.ndjson").split("\n")).toHaveLength(151);
});

test("reports every line of a file without valid documents", async () => {
  bench.write("docs.ndjson", ["{}", "[]"]);
  const { code, stderr } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(4);
  expect(stderr).toContain("2 lines refused, written to docs.ndjson.rejected.ndjson");
});

test("fails if a document fails", async () => {
  bench.write("docs.ndjson", [{ query: "fail", contexts: ["a"] }, ...documents(2)]);
  const { code, stdout } = await bench.run(["push", "docs.ndjson", ...TABLE]);
  expect(code).toBe(3);
  expect(stdout).toContain("2 succeeded · 1 failed (model_error 1)");
  expect(stdout).toContain("sluice results --status failed -- sub_0001");
});

test("the same file repeats a push; other options or content start a new one", async () => {
  bench.write("docs.ndjson", documents(3));
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  const again = await bench.run(["push", "docs.ndjson", "--no-wait", ...TABLE]);
  expect(again.stdout).toContain("All 3 documents in docs.ndjson were already pushed as sub_0001.");
  await bench.run(["push", "docs.ndjson", "--no-wait", "--collection", "other"]);
  bench.write("docs.ndjson", documents(4));
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  await bench.run(["push", "docs.ndjson", "--no-wait", "--key", "mine"]);
  expect(keys()[0]).toMatch(/^file-[0-9a-f]{40}$/);
  expect(keys()[1]).toBe(keys()[0]);
  expect(new Set(keys()).size).toBe(4);
  expect(keys().at(-1)).toBe("mine");
});

test("--no-wait exits once everything is sent", async () => {
  bench.write("docs.ndjson", documents(3));
  const { code, stdout } = await bench.run(["push", "docs.ndjson", "--no-wait", ...TABLE]);
  expect(stdout).toContain("Follow it:   sluice status -- sub_0001");
  expect(code).toBe(0);
  expect(bench.api.received).toHaveLength(1);
});

test("shows the current state of a file that was pushed before", async () => {
  bench.write("docs.ndjson", documents(3));
  await bench.run(["push", "docs.ndjson"]);
  const { stdout } = await bench.run(["push", "docs.ndjson", "--no-wait"]);
  expect(records(stdout)).toMatchObject([
    { already_there: 3, submissions: [{ status: "completed", counts: { queued: 0, succeeded: 3 } }] },
  ]);
});

test.each([[[]], [["--no-wait"]]])("pushes with a key that may not read (%j)", async (more) => {
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

test("pushes standard input like a file", async () => {
  const lines = documents(3).map((document) => `${JSON.stringify(document)}\n`);
  const { code, stdout } = await bench.spawn(["push", "-"], [...lines, "nothing\n"].join(""));
  expect(code).toBe(4);
  expect(records(stdout)).toMatchObject([
    { accepted: 3, rejected: [{ line: 4, item: null }], rejected_file: "stdin.rejected.ndjson" },
  ]);
  expect(read("stdin.rejected.ndjson")).toBe("nothing\n");
});

test("unpacks gzip from standard input", async () => {
  const lines = documents(3).map((document) => `${JSON.stringify(document)}\n`);
  const packed = gzipSync(lines.join(""));
  const piped = await bench.run(["push", "-"], packed);
  expect(records(piped.stdout)).toMatchObject([{ accepted: 3, rejected: [] }]);
  writeFileSync(join(bench.folder, "docs.ndjson"), packed);
  const { stdout } = await bench.run(["push", "docs.ndjson"]);
  // The same content is the same push.
  expect(records(stdout)).toMatchObject([{ accepted: 3, already_there: 3 }]);
});

test("reports a truncated gzip file", async () => {
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

test("reports a file without documents", async () => {
  bench.write("empty.ndjson", []);
  bench.api.instead.push(() => problem(400, "empty-body"));
  const { code, stderr } = await bench.run(["push", "empty.ndjson"]);
  expect([code, stderr]).toEqual([1, "empty.ndjson has no documents. Nothing was pushed.\n"]);
});

test("converts other formats, and refuses lines that cannot be converted", async () => {
  bench.write("batch.jsonl", [
    { custom_id: "r1", body: { query: "q", documents: ["a", { text: "b" }], model: "rerank-2", top_k: 1 } },
    { custom_id: "r2", body: { query: "q" } },
  ]);
  const { code, stderr } = await bench.run(["push", "batch.jsonl", "--format", "voyage", ...TABLE]);
  expect(pushes()[0]?.text).toBe('{"id":"r1","query":"q","contexts":["a","b"]}\n');
  expect(stderr).toContain("line 2: body: documents must be a list of strings or of { text }");
  expect(read("batch.jsonl.rejected.ndjson")).toBe('{"custom_id":"r2","body":{"query":"q"}}\n');
  expect(code).toBe(4);
});

test("reports every line of a file that cannot be converted", async () => {
  bench.write("batch.jsonl", [{ custom_id: 1 }]);
  bench.api.instead.push(() => problem(400, "empty-body"));
  const { code, stderr } = await bench.run(["push", "batch.jsonl", "--format", "voyage", ...TABLE]);
  expect(stderr).toContain("1 line refused, written to batch.jsonl.rejected.ndjson");
  expect(code).toBe(4);
});

test("writes refused TSV rows as rows", async () => {
  bench.write("rows.tsv", ["q1\twhat\tc1\tone", "q2\twhy\tc1", "q1\twhat\tc2\ttwo"]);
  const { code, stderr } = await bench.run(["push", "rows.tsv", "--format", "tsv", ...TABLE]);
  expect([code, stderr]).toEqual([
    4,
    expect.stringMatching(/\n {2}line 2: 3 columns, expected 4 separated by tabs: .*\n$/),
  ]);
  expect(read("rows.tsv.rejected.tsv")).toBe("q2\twhy\tc1\n");
});

test("--estimate sends nothing", async () => {
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

test("--estimate counts the query with each of its contexts", async () => {
  bench.write(
    "docs.ndjson",
    Array.from({ length: 20 }, () => ({ query: "q".repeat(400), contexts: Array(100).fill("c".repeat(40)) })),
  );
  const { stdout } = await bench.run(["push", "docs.ndjson", "--estimate"]);
  expect(records(stdout)).toMatchObject([{ estimate: { tokens: 20 * 100 * (100 + 10) } }]);
  const capped = await bench.run(["push", "docs.ndjson", "--max-usd", "0.0005"]);
  expect(capped.code).toBe(5);
  expect(pushes()).toEqual([]);
});

test("--max-usd sends nothing if the estimate exceeds it", async () => {
  bench.write("docs.ndjson", documents(1_000));
  const over = await bench.run(["push", "docs.ndjson", "--max-usd", "0.0001"]);
  expect(over).toMatchObject({ code: 5, stdout: "" });
  expect(over.stderr).toMatch(/^About \$0\.\d+ is more than --max-usd \$0\.0001\. Nothing was sent\.\n/);
  expect(over.stderr).toContain("a query counts again with each of its contexts");
  expect((await bench.run(["push", "docs.ndjson", "--max-usd", "1e-7"])).stderr).toContain("--max-usd $0.0000001");
  expect(bench.api.received).toEqual([]);
  expect((await bench.run(["push", "docs.ndjson", "--max-usd", "1"])).code).toBe(0);
});

test("reports why a push waits and for how long", async () => {
  bench.write("docs.ndjson", documents(3));
  const conflict = () => problem(409, "conflict", {}, { "retry-after": "1" });
  bench.api.instead.push(conflict, conflict);
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(stderr).toMatch(/^an earlier push is still running: retrying in 1\.\d s, then until it succeeds\n$/);
  expect(code).toBe(0);
});

test("Ctrl-C while sending stops cleanly and reports how to resume", async () => {
  bench.write("docs.ndjson", documents(3));
  bench.api.instead.push(() => new Promise(() => {}));
  const { child, ended } = bench.start(["push", "docs.ndjson", "--key", "mine"]);
  await bench.api.arrival();
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(130);
  expect(stdout).toBe("");
  expect(stderr).toContain("Stopped while sending");
  expect(stderr).toContain("run the same command again, with --key mine, within 24 hours");
});

test("Ctrl-C while standard input hangs exits at once with a message", async () => {
  bench.env["TMPDIR"] = bench.folder;
  const { child, ended } = bench.start(["push", "-"], null);
  // The command has begun to read once more bytes are gone than a pipe holds.
  await new Promise((resolve) => child.stdin.write("x".repeat(1_000_000), resolve));
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 130, stdout: "", stderr: "Stopped before anything was sent.\n" });
  expect(readdirSync(bench.folder)).toEqual([]);
});

test("waits for a server that restarts while documents are sent", async () => {
  bench.write("docs.ndjson", documents(5_000));
  bench.api.instead.push(async (request) => {
    await request.body?.getReader().read();
    // No connection is accepted anymore, as after a kill.
    void bench.pauseListening();
    throw new Error("killed");
  });
  bench.sleep = () => bench.listenAgain();
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson", "--key", "mine"]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^No answer: retrying in \d\.\d s, then until it succeeds\n$/),
  ]);
  expect(records(stdout)).toMatchObject([{ accepted: 5_000, submissions: [{ status: "completed" }] }]);
  expect(keys()).toEqual(["mine"]);
});

test("reports what was sent and how to resume when it stops retrying", async () => {
  bench.write("docs.ndjson", documents(3));
  // The full delay is too long for a test.
  bench.api.instead.push(() => problem(503, "unavailable", {}, { "retry-after": "900" }));
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    "Detail of unavailable.\n" +
      "Stopped retrying: up to 3 documents went out.\n" +
      "To resume, run the same command again within 24 hours. No document is scored twice.\n",
  );
});

test("reports that everything was sent if following fails", async () => {
  bench.write("docs.ndjson", documents(3));
  bench.api.instead.push((request) => {
    const answer = bench.api.fetch(request.url, request);
    bench.api.instead.push(() => problem(500, "internal", {}, { "retry-after": "900" }));
    return answer;
  });
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(code).toBe(1);
  expect(stderr).toContain("Everything was sent and is being scored. To follow it: sluice status -- sub_0001\n");
});

test("reports documents that are never recorded while following them", async () => {
  bench.write("docs.ndjson", documents(3));
  bench.api.looks = Infinity;
  await bench.run(["push", "docs.ndjson", "--no-wait"]);
  bench.api.stall("sub_0001", 2);
  const stop = new AbortController();
  const { stdout, stderr } = await bench.run(["push", "docs.ndjson", ...TABLE], "", {
    signal: stop.signal,
    onNote: () => stop.abort(new Error("stopped")),
  });
  expect(stdout).toContain("All 3 documents in docs.ndjson were already pushed");
  const [words, ...rest] = stderr.split("\n");
  expect(words).toMatch(
    /^2 documents were sent more than 10 minutes ago but not recorded: .*sluice push --key OTHER -- FILE/,
  );
  expect(rest).toEqual([expect.stringContaining("Stopped waiting."), ""]);
});

test("Ctrl-C while waiting does not affect the push", async () => {
  bench.write("docs.ndjson", documents(3));
  bench.api.looks = Infinity;
  const { child, ended } = bench.start(["push", "docs.ndjson"]);
  await bench.api.arrival(2);
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr).toContain("is being scored. To follow it: sluice status -- sub_0001");
});

test("reports a push that is refused as a whole", async () => {
  bench.write("docs.ndjson", documents(3));
  bench.api.instead.push(() =>
    problem(422, "invalid", { errors: [{ pointer: "?model", detail: "must be one of: x" }] }),
  );
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(code).toBe(1);
  expect(stderr).toBe("Detail of invalid.\n  ?model: must be one of: x\n");
  expect(existsSync(join(bench.folder, "docs.ndjson.rejected.ndjson"))).toBe(false);
});

test("reports a missing file", async () => {
  expect(await bench.run(["push", "nothing.ndjson"])).toEqual({
    code: 1,
    stdout: "",
    stderr: "nothing.ndjson cannot be read: no such file\n",
  });
});
