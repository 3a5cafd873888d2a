import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { problem } from "../fake-api.ts";
import { documents } from "../shared/client.ts";
import { type Bench, records, TABLE, test } from "./run.ts";

const keys = (bench: Bench) => bench.pushes().map(({ headers }) => headers.get("idempotency-key"));

test("reports why a push waits and for how long", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  const conflict = () => problem(409, "conflict", {}, { "retry-after": "1" });
  bench.api.instead.push(conflict, conflict);
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(stderr).toMatch(/^an earlier push is still running: retrying in 1\.\d s, then until it succeeds\n$/);
  expect(code).toBe(0);
});

test("Ctrl-C while sending stops cleanly and reports how to resume", async ({ bench }) => {
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

test("Ctrl-C while standard input hangs exits at once with a message", async ({ bench }) => {
  bench.env["TMPDIR"] = bench.folder;
  const { child, ended } = bench.start(["push", "-"], null);
  // The command has begun to read once more bytes are gone than a pipe holds.
  await new Promise((resolve) => child.stdin.write("x".repeat(1_000_000), resolve));
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 130, stdout: "", stderr: "Stopped before anything was sent.\n" });
  expect(readdirSync(bench.folder)).toEqual([]);
});

test("waits for a server that restarts while documents are sent", async ({ bench }) => {
  bench.write("docs.ndjson", documents(5_000));
  bench.api.instead.push(async (request) => {
    await request.body?.getReader().read();
    // The server accepts no more connections, as after a kill.
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
  expect(keys(bench)).toEqual(["mine"]);
});

test("reports what was sent and how to resume when it stops retrying", async ({ bench }) => {
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

test("reports that a full database took nothing of a push", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  bench.api.instead.push(() => problem(503, "database-full", { submission: null }, { "retry-after": "900" }));
  const { code, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect(code).toBe(1);
  expect(stderr).toContain("\nStopped retrying: nothing went out.\n");
});

test("reports that everything was sent if following fails", async ({ bench }) => {
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

test("reports documents that are never recorded while following them", async ({ bench }) => {
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

test("Ctrl-C while waiting does not affect the push", async ({ bench }) => {
  bench.write("docs.ndjson", documents(3));
  bench.api.looks = Infinity;
  const { child, ended } = bench.start(["push", "docs.ndjson"]);
  await bench.api.arrival(2);
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr).toContain("is being scored. To follow it: sluice status -- sub_0001");
});
