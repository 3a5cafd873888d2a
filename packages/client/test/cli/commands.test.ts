import { afterEach, beforeEach, expect, test } from "vitest";
import { problem } from "../fake-api.ts";
import { jobOf, malformedOf, submissionOf } from "../shapes.ts";
import { documents } from "../shared/client.ts";
import { Bench, records } from "./run.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.start();
  bench.write("docs.ndjson", [...documents(2), { id: "d3", query: "fail", contexts: ["a"] }]);
  await bench.run(["push", "docs.ndjson", "--label", "nightly"]);
  bench.api.received.length = 0;
});
afterEach(() => bench.stop());

const TABLE = ["-o", "table"];
const paths = () => bench.api.received.map(({ method, url }) => `${method} ${url.pathname}${url.search}`);

/** Replaces words that vary from run to run. */
const steady = (text: string) => text.replaceAll(/\d+ (min|h|d|s) ago/g, "N ago").replaceAll(/ +/g, " ");

test("status lists submissions as a table or as NDJSON", async () => {
  const table = await bench.run(["status", "--label", "nightly", ...TABLE]);
  expect(steady(table.stdout)).toBe(
    "SUBMISSION STATUS ENDED FAILED PUSHED COLLECTION LABEL\nsub_0001 completed 3 / 3 1 N ago default nightly\n",
  );
  const piped = await bench.run(["status"]);
  expect(records(piped.stdout)).toMatchObject([{ id: "sub_0001", counts: { failed: 1 } }]);
  expect(paths()).toEqual(["GET /v1/submissions?label=nightly&limit=20", "GET /v1/submissions?limit=20"]);
});

test.each([
  ["status", submissionOf("sub_9", [], new URLSearchParams())],
  ["jobs", jobOf({ id: "job_9" })],
])("%s keeps reading after a short filtered page, up to the limit", async (command, found) => {
  const page = (data: unknown[], next_cursor: string | null) => () => Response.json({ data, next_cursor });
  bench.api.instead.push(page([], "a"), page([found], "b"), page([found, found], "c"));
  const { code, stdout } = await bench.run([command, "-s", "canceled", "-n", "2"]);
  expect([code, records(stdout)]).toEqual([0, [found, found]]);
  bench.api.instead.push(page([], "a"), page([], null));
  expect((await bench.run([command, "-s", "canceled"])).stdout).toBe("");
  expect(bench.api.instead).toEqual([]);
});

test("aligns the columns of a table", async () => {
  await bench.run(["push", "docs.ndjson", "--label", "a longer label", "--collection", "c", "--no-wait"]);
  const { stdout } = await bench.run(["status", ...TABLE]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  for (const title of ["STATUS", "COLLECTION", "LABEL"]) {
    const at = lines[0]?.indexOf(title) ?? -1;
    expect(lines.map((line) => line.slice(at - 2, at + 1))).toEqual(lines.map(() => expect.stringMatching(/^ {2}\S$/)));
  }
});

test("status of one submission shows its documents by status", async () => {
  const { code, stdout } = await bench.run(["status", "sub_0001", ...TABLE]);
  expect(steady(stdout)).toContain("succeeded 2\nfailed 1 model_error 1\ncanceled 0\ntotal 3\n");
  expect(code).toBe(3);
});

test("status names the local stand-in, but not Workers AI", async () => {
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stderr).toBe("");
  bench.api.scorer = "minilm";
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stderr).toContain(
    "Local scores come from MiniLM (English only) and differ from bge-m3's.",
  );
});

test("escapes control characters in the API's answers", async () => {
  const detail = "\u{1b}]0;x\u{7}\u{202e}";
  bench.api.instead.push(() =>
    Response.json({ type: "/problems/x", title: detail, status: 422, detail, errors: [] }, { status: 422 }),
  );
  const { code, stderr } = await bench.run(["status", "sub_0001"]);
  expect(code).toBe(1);
  expect(stderr).toContain("]0;x");
  expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
});

test.each([["push", "\u{1b}[2J\u{202e}"], ["--\u{1b}[2J\u{202e}"], ["scores", "x", "--\u{202e}\u{9b}2J"]])(
  "escapes control characters in quoted arguments: %j",
  async (...args) => {
    const { code, stderr } = await bench.run(args);
    expect(code).not.toBe(0);
    expect(stderr).toContain("2J");
    expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  },
);

test("results prints documents with their best contexts, or as NDJSON", async () => {
  const table = await bench.run(["results", "sub_0001", ...TABLE]);
  expect(steady(table.stdout)).toBe(
    "DOCUMENT STATUS BEST CONTEXT OR ERROR\nd1 succeeded 0.9000 0\nd2 succeeded 0.9000 0\nd3 failed model_error: The model broke down.\n",
  );
  expect(table.code).toBe(3);
  const piped = await bench.run([
    "results",
    "sub_0001",
    "--status",
    "succeeded",
    "--top-k",
    "1",
    "--include",
    "text,metadata",
  ]);
  expect(records(piped.stdout)).toMatchObject([{ id: "d1" }, { id: "d2" }]);
  expect(piped.code).toBe(0);
  expect(paths().at(-1)).toBe(
    "GET /v1/submissions/sub_0001/results?status=succeeded&top_k=1&include=text%2Cmetadata&limit=1000",
  );
});

test("scores prints a document's contexts, best first", async () => {
  const table = await bench.run(["scores", "d1", ...TABLE]);
  expect(table.stdout).toBe("d1  a query\n\nRANK   SCORE  CONTEXT\n   1  0.9000  0\n");
  const piped = await bench.run(["scores", "d1"]);
  expect(records(piped.stdout)).toEqual([
    { collection: "default", document_id: "d1", rank: 1, score: 0.9, context_id: "0", context_index: 0 },
  ]);
  const failed = await bench.run(["scores", "d3"]);
  expect(failed).toMatchObject({ code: 3, stdout: "" });
  expect(failed.stderr).toContain("d3 is failed and has no scores. To find out why: sluice why -- d3\n");
});

test("why explains what happened to a document and what to do", async () => {
  const { stdout } = await bench.run(["why", "d3", ...TABLE]);
  expect(stdout).toContain(
    "model_error: The model broke down.\nA retry may help: sluice retry --code model_error -- sub_0001\n",
  );
  expect(steady(stdout)).toContain("1 N ago 1.0 s retry: 3040: Capacity temporarily exceeded");
  expect(records((await bench.run(["why", "d3"])).stdout)).toMatchObject([
    { document: { id: "d3" }, job: { id: "job_1" } },
  ]);
  const submission = await bench.run(["why", "sub_0001", ...TABLE]);
  expect(submission.stdout).toContain("1 document failed: model_error 1.");
  const job = await bench.run(["why", "job_9", ...TABLE]);
  expect(job.stdout).toContain("Workers AI is temporarily unavailable; Sluice retries; next check now");
});

test.each([
  ["sub_nope", "submission or document sub_nope in collection default"],
  ["job_nope", "job or document job_nope in collection default"],
  ["nope", "document nope in collection default"],
])("why of an unknown %s names what it looked for", async (id, words) => {
  const { code, stdout, stderr } = await bench.run(["why", id]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`No ${words}`);
});

test("why finds a document whose id looks like a submission's, in any collection", async () => {
  bench.write("named.ndjson", [{ id: "sub_7", query: "q", contexts: ["a"] }]);
  await bench.run(["push", "named.ndjson", "--collection", "c"]);
  const { code, stdout } = await bench.run(["why", "sub_7", "--collection", "c", ...TABLE]);
  expect(stdout).toContain("See its scores: sluice scores --collection c -- sub_7\n");
  expect(code).toBe(0);
});

test("status and why report that an open push can be resumed", async () => {
  const [stored] = bench.api.submissions.values();
  if (stored !== undefined) stored.submission = { ...stored.submission, status: "receiving" };
  const words = "ts push is still running or was interrupted; push the same input with the same key to resume it";
  expect((await bench.run(["why", "sub_0001", ...TABLE])).stdout).toContain(
    `sub_0001 is receiving: all 3 documents sent so far ended.\nI${words}.\n`,
  );
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stdout).toContain(`receiving  i${words}\n`);
  const none = await bench.run(["status", "--label", "none", ...TABLE]);
  expect(none.stdout).toBe("No submissions.\n");
});

test("why reports a poller that does not run", async () => {
  bench.api.looks = Infinity;
  bench.write("open.ndjson", [{ id: "o1", query: "q", contexts: ["a"] }]);
  await bench.run(["push", "open.ndjson", "--no-wait"]);
  const { stdout } = await bench.run(["why", "o1", ...TABLE]);
  expect(steady(stdout)).toMatch(/^o1 is queued\.\n.*\nThe poller ran N ago, but should run every minute/);
  expect((await bench.run(["status", "sub_0002", ...TABLE])).stderr).toContain("should run every minute");
  expect((await bench.run(["why", "d1", ...TABLE])).stdout).not.toContain("poller");
});

test("why reports documents that were never recorded", async () => {
  bench.api.looks = Infinity;
  await bench.run(["push", "docs.ndjson", "--key", "other", "--no-wait"]);
  bench.api.stall("sub_0002", 1);
  const words = "1 document was sent more than 10 minutes ago but not recorded: ";
  expect((await bench.run(["why", "sub_0002", ...TABLE])).stdout).toContain(`\n${words}`);
  const detail = (await bench.run(["status", "sub_0002", ...TABLE])).stdout;
  expect(detail).toMatch(/^sub_0002 {2}queued, stalled\n/);
  expect(detail).toContain(`stalled  ${words}`);
  for (const status of ["stalled", "queued"]) {
    const { stdout } = await bench.run(["status", "--status", status, ...TABLE]);
    expect(stdout.match(/^sub_.*$/gm)).toEqual([expect.stringMatching(/^sub_0002 +queued, stalled /)]);
  }
  for (const id of ["lost", "sub_0002-7"]) {
    const { code, stderr } = await bench.run(["why", id]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`\nIf it was part of sub_0002: ${words}`)]);
  }
  expect((await bench.run(["why", "sub_0009-7"])).stderr).not.toContain("sub_0002");
});

test("prints an error once, and its locations if they add detail", async () => {
  const printed = async (...answer: Parameters<typeof problem>) => {
    bench.api.instead.push(() => problem(...answer));
    return (await bench.run(["status"])).stderr;
  };
  const twice = { title: "There is no such thing", detail: "There is no submission sub_9." };
  expect(await printed(404, "not-found", twice)).toBe("There is no submission sub_9.\n");
  const errors = [{ pointer: "?cursor", detail: "must be a next_cursor" }];
  const same = { title: "Not valid", detail: "?cursor must be a next_cursor.", errors };
  expect(await printed(422, "invalid", same)).toBe("Not valid: ?cursor must be a next_cursor.\n");
  expect(await printed(422, "invalid", { ...same, detail: "See errors." })).toBe(
    "Not valid: See errors.\n  ?cursor: must be a next_cursor\n",
  );
});

test("results reports that there are no results", async () => {
  const none = await bench.run(["results", "sub_0001", "--status", "canceled", ...TABLE]);
  expect([none.code, none.stdout]).toEqual([0, "No documents are canceled.\n"]);
  expect((await bench.run(["results", "sub_0001", "--status", "canceled"])).stdout).toBe("");
});

test("tail does not offer a refused cursor", async () => {
  bench.api.instead.push(() => problem(422, "invalid"));
  const { code, stderr } = await bench.run(["tail", "--cursor", "zzz"]);
  expect([code, stderr]).toEqual([1, "Detail of invalid.\n"]);
});

test("jobs shows the size of a job and what it waits for", async () => {
  const { stdout } = await bench.run(["jobs", "--status", "pending", ...TABLE]);
  expect(steady(stdout)).toContain("job_1 pending bulk 120 1.2 MB 90 s 1 another try, now");
  expect(paths()).toEqual(["GET /v1/jobs?status=pending&limit=20"]);
  expect(records((await bench.run(["jobs", "job_5"])).stdout)).toMatchObject([{ id: "job_5" }]);
});

test("reports a long wait", async () => {
  bench.api.instead.push(() => problem(429, "too-many-requests", {}, { "retry-after": "2" }));
  const { code, stderr } = await bench.run(["jobs"]);
  expect([code, stderr]).toEqual([0, "Title of too-many-requests: retrying in 2.0 s\n"]);
});

test("retry, cancel, pause and resume report what they did", async () => {
  const printed: string[] = [];
  for (const args of [
    ["retry", "sub_0001", "--code", "model_error"],
    ["pause"],
    ["resume"],
    ["resume"],
    ["cancel", "sub_0001"],
  ]) {
    printed.push(steady((await bench.run([...args, ...TABLE])).stdout));
  }
  expect(printed).toEqual([
    "1 document queued again. Follow it: sluice status -- sub_0001\n",
    expect.stringContaining("everything requested N ago resumed\n"),
    "Resumed everything, paused N ago (requested).\n",
    "Nothing to resume: everything was not paused.\n",
    "sub_0001 is already completed. There is nothing to cancel.\n",
  ]);
  bench.api.looks = Infinity;
  await bench.run(["push", "docs.ndjson", "--key", "other", "--no-wait"]);
  expect((await bench.run(["cancel", "sub_0002", ...TABLE])).stdout).toBe("sub_0002 is canceled.\n");
});

test("retry and status show the progress of a large retry", async () => {
  const { submission } = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  const retry = { documents: 40_000, queued: 10_000, since: "2026-01-01T00:00:00.000Z" };
  bench.api.instead.push(() => Response.json({ submission: { ...submission, retry }, queued: 10_000, lost: 0 }));
  const words = "10,000 of 40,000 failed documents queued again, the rest follow within minutes";
  expect((await bench.run(["retry", "sub_0001", ...TABLE])).stdout).toBe(
    `${words}. Follow it: sluice status -- sub_0001\n`,
  );
  bench.api.instead.push(() => Response.json({ ...submission, retry }));
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stdout).toMatch(new RegExp(`retry +${words}`));
});

test("why shows the progress of a retry and suggests no second one", async () => {
  const [stored] = bench.api.submissions.values();
  if (stored === undefined) expect.fail("no submission");
  const retry = { documents: 20_000, queued: 5_000, since: new Date(Date.now() - 120_000).toISOString() };
  stored.submission = { ...stored.submission, status: "processing", completed_at: null, retry };
  const words = "A retry was requested 2 min ago: 5,000 of 20,000 failed documents queued again, the rest follow";
  const { stdout } = await bench.run(["why", "sub_0001", ...TABLE]);
  expect(stdout).toContain("sub_0001 is processing: a retry is about to queue failed documents again.\n");
  expect(stdout).toContain(words);
  expect(stdout).not.toContain("sluice retry");
  const document = await bench.run(["why", "d3", ...TABLE]);
  expect(document.stdout).toContain(words);
  expect(document.stdout).not.toContain("sluice retry");
});

test("cancel reports failed documents that cannot be retried", async () => {
  const [stored] = bench.api.submissions.values();
  if (stored === undefined) expect.fail("no submission");
  const { counts } = stored.submission;
  stored.submission = { ...stored.submission, status: "canceled", counts: { ...counts, succeeded: 1, failed: 2 } };
  bench.api.instead.push(() => Response.json(stored.submission));
  expect((await bench.run(["cancel", "sub_0001", ...TABLE])).stdout).toBe(
    "sub_0001 is canceled. 2 documents failed and will not be retried.\n",
  );
  for (const id of ["sub_0001", "d3"]) {
    const { stdout } = await bench.run(["why", id, ...TABLE]);
    expect(stdout).toContain("canceled and cannot be retried");
    expect(stdout).not.toContain("sluice retry");
  }
});

test("retry and cancel report lost documents with the next step", async () => {
  const { submission } = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  const lost = { ...submission, failures: { message_lost: 2 } };
  bench.api.instead.push(() => Response.json({ submission: lost, queued: 0, lost: 2 }));
  const words =
    "2 documents were lost in the Queue and cannot be queued again. Push the same file again to score them.\n";
  expect((await bench.run(["retry", "sub_0001", ...TABLE])).stdout).toBe(words);
  bench.api.instead.push(() => Response.json({ submission: lost, queued: 0, lost: 2 }));
  expect(records((await bench.run(["retry", "sub_0001"])).stdout)).toMatchObject([{ queued: 0, lost: 2 }]);
  bench.api.instead.push(() => Response.json(lost));
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stdout).toContain(
    "lost    2 documents were lost in the Queue. Push the same file again to score them.",
  );
  const canceling = { ...submission, status: "canceling", counts: { ...submission.counts, queued: 2, succeeded: 0 } };
  bench.api.instead.push(() => Response.json(canceling));
  expect((await bench.run(["cancel", "sub_0001", ...TABLE])).stdout).toBe(
    "sub_0001 is canceling. 2 documents have not ended: dispatched documents still finish. 2 in the Queue: canceled on arrival, " +
      "or failed as message_lost if they never arrive.\n",
  );
});

test("malformed lists quarantined messages, and replays one or all", async () => {
  expect((await bench.run(["malformed", ...TABLE])).stdout).toBe("No message is quarantined.\n");
  bench.api.malformed.push(...["msg_a", "msg_b", "msg_c"].map(malformedOf));
  expect((await bench.run(["malformed", ...TABLE])).stdout).toMatch(
    /^QUEUE .*\nsluice-bulk .*the body is not JSON  msg_a\n/,
  );
  expect(records((await bench.run(["malformed", "--limit", "2"])).stdout)).toMatchObject([
    { id: "msg_a" },
    { id: "msg_b" },
  ]);
  expect((await bench.run(["malformed", "--replay", "msg_b", ...TABLE])).stdout).toBe(
    "1 message sent again. If they fail again, they reappear here: sluice malformed\n",
  );
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_a", "msg_c"]);
  expect(records((await bench.run(["malformed", "--replay"])).stdout)).toEqual([{ replayed: 2 }]);
  expect(bench.api.malformed).toEqual([]);
});

test("malformed --discard discards one message, and excludes --replay", async () => {
  bench.api.malformed.push(...["msg_a", "msg_b"].map(malformedOf));
  bench.api.unplaceable.add("msg_a");
  const discarded = await bench.run(["malformed", "--discard", "msg_a", ...TABLE]);
  expect([discarded.code, discarded.stdout]).toEqual([0, "1 message discarded.\n"]);
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_b"]);
  expect((await bench.run(["malformed", "--discard", "msg_a"])).code).toBe(1);
  expect((await bench.run(["malformed", "--discard", "msg_b", "--replay"])).code).toBe(2);
  expect(records((await bench.run(["malformed", "--discard", "msg_b"])).stdout)).toEqual([{ discarded: 1 }]);
  expect(bench.api.malformed).toEqual([]);
});

test("malformed --replay reports a message that cannot be replayed and continues", async () => {
  bench.api.malformed.push(...["msg_a", "msg_b", "msg_c"].map(malformedOf));
  bench.api.unplaceable.add("msg_a");
  const { code, stdout, stderr } = await bench.run(["malformed", "--replay", ...TABLE]);
  expect(stdout).toBe("2 messages sent again. If they fail again, they reappear here: sluice malformed\n");
  expect(stderr).toMatch(/^msg_a: .*conflict.*\n$/);
  expect(code).toBe(1);
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_a"]);
});

test("tail prints documents as they end until Ctrl-C, then how to continue", async () => {
  const { child, ended } = bench.start(["tail", "--collection", "default", "--all"]);
  await bench.api.arrival(2);
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect(records(stdout)).toMatchObject([{ id: "d1" }, { id: "d2" }, { id: "d3" }]);
  expect(stderr).toBe("Continue from here: sluice tail --cursor 3\n");
  expect(code).toBe(130);
});

test("tail starts at the end, waits for an absent server, and offers its cursor", async () => {
  bench.api.looks = Infinity;
  const away = () => problem(503, "unavailable");
  const stop = new AbortController();
  const running = bench.run(["tail"], "", { signal: stop.signal });
  await bench.api.arrival(2);
  bench.api.instead.push(away, away);
  await bench.api.arrival(4);
  stop.abort(new Error("stopped"));
  const { code, stdout, stderr } = await running;
  expect(paths().slice(0, 2)).toEqual(["GET /v1/results?from=now&wait=25", "GET /v1/results?cursor=3&wait=25"]);
  expect([code, stdout]).toEqual([130, ""]);
  expect(stderr).toBe(
    "Detail of unavailable. Retrying until the server answers.\nThe server answers again.\nContinue from here: sluice tail --cursor 3\n",
  );
});

test("tail offers no cursor if it is stopped before the first answer", async () => {
  bench.api.instead.push(() => new Promise<Response>(() => {}));
  const stop = new AbortController();
  const running = bench.run(["tail"], "", { signal: stop.signal });
  await bench.api.arrival();
  stop.abort(new Error("stopped"));
  expect(await running).toEqual({ code: 130, stdout: "", stderr: "" });
});
