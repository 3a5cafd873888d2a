import { expect } from "vitest";
import { records, steady, TABLE, testPushed as test } from "./run.ts";

test("why explains what happened to a document and what to do", async ({ bench }) => {
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

test("why says that failed documents were deleted since", async ({ bench }) => {
  const stored = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  stored.submission = { ...stored.submission, failures: {} };
  expect((await bench.run(["why", "sub_0001", ...TABLE])).stdout).toMatch(
    /\n1 document failed\.\n1 document was deleted since\. Push the same file again to score them\.\n$/,
  );
});

test.for([
  ["sub_nope", "submission or document sub_nope in collection default"],
  ["job_nope", "job or document job_nope in collection default"],
  ["nope", "document nope in collection default"],
] as const)("why of an unknown %s names what it looked for", async ([id, words], { bench }) => {
  const { code, stdout, stderr } = await bench.run(["why", id]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`No ${words}`);
});

test("why says how a document ended, and where else to look for one", async ({ bench }) => {
  const [stored] = bench.api.submissions.values();
  const [first, ...others] = stored?.documents ?? [];
  if (stored === undefined || first === undefined) expect.fail("no document");
  expect(steady((await bench.run(["why", first.id, ...TABLE])).stdout)).toMatch(
    /^d1 succeeded N ago, in attempt 1\.\n/,
  );
  stored.documents = [{ ...first, status: "canceled", attempts: 0, job_id: null, scores: [] }, ...others];
  expect(steady((await bench.run(["why", first.id, ...TABLE])).stdout)).toBe(
    "d1 was canceled N ago.\nIt was canceled before it was dispatched. Push it again to score it.\n",
  );
  expect((await bench.run(["why", "nope"])).stderr).toContain("for another one). A document pushed a moment ago");
});

test("why and status say that a canceled submission is not dispatched any more", async ({ bench }) => {
  bench.api.looks = Infinity;
  bench.write("open.ndjson", [{ id: "o1", query: "q", contexts: ["a"] }]);
  await bench.run(["push", "open.ndjson", "--no-wait"]);
  const stored = bench.api.submissions.get("sub_0002") ?? expect.fail("no submission");
  const waiting = { reason: "dispatch", until: null } as const;
  stored.submission = { ...stored.submission, status: "canceling", waiting };
  stored.documents = stored.documents.map((one) => ({ ...one, status: "processing", waiting }));
  const words = "the poller's next run cancels what is not dispatched";
  expect((await bench.run(["why", "o1", ...TABLE])).stdout).toContain(
    `o1 is processing.\nIts submission was canceled: ${words}.\n`,
  );
  expect((await bench.run(["why", "sub_0002", ...TABLE])).stdout).toContain(`\nWaiting: ${words}.\n`);
  expect((await bench.run(["status", "sub_0002", ...TABLE])).stdout).toMatch(new RegExp(`\nwaits +${words}\n`));
  stored.submission = { ...stored.submission, status: "processing" };
  expect((await bench.run(["why", "o1", ...TABLE])).stdout).toContain("\nWaiting:  it is queued for dispatch.\n");
});

test("why finds a document whose id looks like a submission's, in any collection", async ({ bench }) => {
  bench.write("named.ndjson", [{ id: "sub_7", query: "q", contexts: ["a"] }]);
  await bench.run(["push", "named.ndjson", "--collection", "c"]);
  const { code, stdout } = await bench.run(["why", "sub_7", "--collection", "c", ...TABLE]);
  expect(stdout).toContain("See its scores: sluice scores --collection c -- sub_7\n");
  expect(code).toBe(0);
});

test("status and why report that an open push can be resumed", async ({ bench }) => {
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

test("why reports a poller that does not run", async ({ bench }) => {
  bench.api.looks = Infinity;
  bench.write("open.ndjson", [{ id: "o1", query: "q", contexts: ["a"] }]);
  await bench.run(["push", "open.ndjson", "--no-wait"]);
  const { stdout } = await bench.run(["why", "o1", ...TABLE]);
  expect(steady(stdout)).toMatch(/^o1 is queued\.\n.*\nThe poller ran N ago, but should run every minute/);
  expect((await bench.run(["status", "sub_0002", ...TABLE])).stderr).toContain("should run every minute");
  expect((await bench.run(["why", "d1", ...TABLE])).stdout).not.toContain("poller");
});

test("why reports documents that were never recorded", async ({ bench }) => {
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

test("why shows the progress of a retry and suggests no second one", async ({ bench }) => {
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
