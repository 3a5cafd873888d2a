import { expect } from "vitest";
import { documentOf, jobOf, submissionOf } from "../shapes.ts";
import { records, steady, TABLE, testPushed as test } from "./run.ts";

test("status lists submissions as a table or as NDJSON", async ({ bench }) => {
  const table = await bench.run(["status", "--label", "nightly", ...TABLE]);
  expect(steady(table.stdout)).toBe(
    "SUBMISSION STATUS ENDED FAILED PUSHED COLLECTION LABEL\nsub_0001 completed 3 / 3 1 N ago default nightly\n",
  );
  const piped = await bench.run(["status"]);
  expect(records(piped.stdout)).toMatchObject([{ id: "sub_0001", counts: { failed: 1 } }]);
  expect(bench.paths()).toEqual(["GET /v1/submissions?label=nightly&limit=20", "GET /v1/submissions?limit=20"]);
});

test.for([
  ["status", submissionOf("sub_9", [], new URLSearchParams())],
  ["jobs", jobOf({ id: "job_9" })],
] as const)("%s keeps reading after a short filtered page, up to the limit", async ([command, found], { bench }) => {
  const page = (data: unknown[], next_cursor: string | null) => () => Response.json({ data, next_cursor });
  bench.api.instead.push(page([], "a"), page([found], "b"), page([found, found], "c"));
  const { code, stdout } = await bench.run([command, "-s", "canceled", "-n", "2"]);
  expect([code, records(stdout)]).toEqual([0, [found, found]]);
  bench.api.instead.push(page([], "a"), page([], null));
  expect((await bench.run([command, "-s", "canceled"])).stdout).toBe("");
  expect(bench.api.instead).toEqual([]);
});

test("aligns the columns of a table", async ({ bench }) => {
  await bench.run(["push", "docs.ndjson", "--label", "a longer label", "--collection", "c", "--no-wait"]);
  const { stdout } = await bench.run(["status", ...TABLE]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  for (const title of ["STATUS", "COLLECTION", "LABEL"]) {
    const at = lines[0]?.indexOf(title) ?? -1;
    expect(lines.map((line) => line.slice(at - 2, at + 1))).toEqual(lines.map(() => expect.stringMatching(/^ {2}\S$/)));
  }
});

test("status of one submission shows its documents by status", async ({ bench }) => {
  const { code, stdout } = await bench.run(["status", "sub_0001", ...TABLE]);
  expect(steady(stdout)).toContain("succeeded 2\nfailed 1 model_error 1\ncanceled 0\ntotal 3\n");
  expect(code).toBe(3);
});

test("status names the local stand-in, but not Workers AI", async ({ bench }) => {
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stderr).toBe("");
  bench.api.scorer = "minilm";
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stderr).toContain(
    "Local scores come from MiniLM (English only) and differ from bge-m3's.",
  );
});

test("results prints documents with their best contexts, or as NDJSON", async ({ bench }) => {
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
  expect(bench.paths().at(-1)).toBe(
    "GET /v1/submissions/sub_0001/results?status=succeeded&top_k=1&include=text%2Cmetadata&limit=1000",
  );
});

test("scores prints a document's contexts, best first", async ({ bench }) => {
  const table = await bench.run(["scores", "d1", ...TABLE]);
  expect(table.stdout).toBe("d1  a query\n\nRANK   SCORE  CONTEXT\n   1  0.9000  0\n");
  const piped = await bench.run(["scores", "d1"]);
  expect(records(piped.stdout)).toEqual([
    { collection: "default", document_id: "d1", rank: 1, score: 0.9, context_id: "0", context_index: 0 },
  ]);
  const failed = await bench.run(["scores", "d3"]);
  expect(failed).toMatchObject({ code: 3, stdout: "" });
  expect(failed.stderr).toContain("d3 failed and has no scores. To find out why: sluice why -- d3\n");
});

test("scores says that a text expired or is deleted", async ({ bench }) => {
  const answer = (more: object) => () => {
    const score = { rank: 1, score: 0.9, context_id: "0", context_index: 0, ...more };
    return Response.json({
      ...documentOf({ id: "d1", query: "a query", contexts: ["a"] }, "sub_0001", new URLSearchParams()),
      scores: [score],
    });
  };
  bench.api.instead.push(answer({ text: null, text_expired_at: "2026-09-28T14:13:20.000Z" }));
  expect((await bench.run(["scores", "d1", "--text", ...TABLE])).stdout).toContain("0        (expired 2026-09-28)\n");
  bench.api.instead.push(answer({ text: null, text_expired_at: null }));
  expect((await bench.run(["scores", "d1", "--text", ...TABLE])).stdout).toContain("0        (deleted)\n");
});

test("results reports that there are no results", async ({ bench }) => {
  const none = await bench.run(["results", "sub_0001", "--status", "canceled", ...TABLE]);
  expect([none.code, none.stdout]).toEqual([0, "No documents are canceled.\n"]);
  expect((await bench.run(["results", "sub_0001", "--status", "canceled"])).stdout).toBe("");
});

test("jobs shows the size of a job and what it waits for", async ({ bench }) => {
  const { stdout } = await bench.run(["jobs", "--status", "pending", ...TABLE]);
  expect(steady(stdout)).toContain("job_1 pending bulk 120 1.2 MB 90 s 1 another try, now");
  expect(bench.paths()).toEqual(["GET /v1/jobs?status=pending&limit=20"]);
  expect(records((await bench.run(["jobs", "job_5"])).stdout)).toMatchObject([{ id: "job_5" }]);
});
