import { env } from "cloudflare:test";
import type { SubmissionId } from "@sluice/core";
import { rankScores } from "@sluice/pipeline/score/rank-scores.ts";
import { openDatabase } from "@sluice/db";
import { postponeJob } from "@sluice/pipeline/job/sql/postpone-job.ts";
import { startAttempt } from "@sluice/pipeline/job/sql/start-attempt.ts";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi, type ProblemBody } from "./api.ts";
import { at, db, documentPath, end, read, recorded, scored, text, type Page } from "./reading.ts";

describe("GET a document", () => {
  it("gives its scores best first, under every key of the shape", async () => {
    const submission = await scored([{ id: "one", query: "q?", contexts: ["a", "b"], contextIds: ["x", "y"] }]);
    const job = await env.DB.prepare("SELECT id FROM jobs").first("id");
    expect(await read<DocumentShape>(documentPath("one"))).toEqual({
      id: "one",
      collection: "default",
      status: "succeeded",
      query: "q?",
      model: "@cf/baai/bge-m3",
      lane: "bulk",
      scores: [
        { rank: 1, score: 0.75, context_id: "1", context_index: 1 },
        { rank: 2, score: 0.25, context_id: "0", context_index: 0 },
      ],
      scored_submission_id: submission,
      stale: false,
      error: null,
      attempts: 1,
      submission_id: submission,
      job_id: job,
      waiting: null,
      created_at: at(NOW),
      dispatched_at: at(NOW),
      finalized_at: at(NOW),
    });
  });

  it("gives texts and metadata where asked, and the best only", async () => {
    await scored([{ id: "one", contexts: ["a", "b"] }]);
    const document = await read<DocumentShape>(`${documentPath("one")}?include=text,metadata&top_k=1`);
    expect(document.scores).toEqual([{ rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "b" }]);
    expect(document).toHaveProperty("metadata", null);
  });

  it.each(["a/b", "a%2Fb", "ü €😀", "100%", "a?b#c", "%2e", "a+b"])("finds the id %j, decoded once", async (id) => {
    await scored([{ id }]);
    expect((await read<DocumentShape>(documentPath(id))).id).toBe(id);
  });

  it("that is recorded and not ended is processing, at its job", async () => {
    const { submission, job } = await recorded([{ id: "one" }]);
    expect(await read<DocumentShape>(documentPath("one"))).toMatchObject({
      status: "processing",
      scores: [],
      scored_submission_id: null,
      stale: false,
      attempts: 0,
      job_id: job,
      submission_id: submission,
      dispatched_at: null,
      finalized_at: null,
    });
    await dispatch(db(), job);
    expect(await read<DocumentShape>(documentPath("one"))).toMatchObject({
      attempts: 1,
      dispatched_at: at(NOW),
      waiting: { reason: "answer", until: at(NOW + 30_000) },
    });
  });

  it("whose job was turned away waits for the next try", async () => {
    const { job } = await recorded([{ id: "one" }]);
    await startAttempt(db(), { id: job, attempt: 0, status: "pending" }, { until: NOW + 120_000, token: "t" }, NOW);
    const refused = { id: job, attempt: 1, status: "dispatching" } as const;
    await postponeJob(
      db(),
      refused,
      { reason: "capacity", message: "no" },
      { dispatch: "none", refused: true },
      NOW + 60_000,
      NOW,
    );
    const document = await read<DocumentShape>(documentPath("one"));
    expect(document.waiting).toEqual({ reason: "retry", until: at(NOW + 60_000) });
  });

  it("that is asked about again is found at the job that follows", async () => {
    const { submission, job } = await recorded([{ id: "one" }, { id: "two" }]);
    const child = { id: jobId(), round: 2, members: [[submission, ["two"]]], dueAt: NOW + 5_000 } as const;
    await end(job, {
      status: "succeeded",
      outcomes: [{ submission, document: "one", scores: rankScores([1, 2], null) }],
      children: [child],
      tokens: null,
      error: null,
    });
    expect(await read<DocumentShape>(documentPath("two"))).toMatchObject({
      status: "processing",
      job_id: child.id,
      attempts: 1,
    });
    const page = await read<Page<DocumentShape>>(`/v1/submissions/${submission}/results`);
    expect(page.data.map((one) => [one.id, one.job_id])).toEqual([
      ["one", job],
      ["two", child.id],
    ]);
  });

  it("that failed says why, and whether trying again may help", async () => {
    const { submission, job } = await recorded([{ id: "one" }]);
    const outcome = { submission, document: "one", code: "model_error", message: "the model's words" } as const;
    await end(job, { status: "failed", outcomes: [outcome], children: [], tokens: null, error: null });
    expect(await read<DocumentShape>(documentPath("one"))).toMatchObject({
      status: "failed",
      error: { code: "model_error", message: "the model's words", retryable: true },
      scores: [],
    });
    expect(await read<SubmissionShape>(`/v1/submissions/${submission}`)).toMatchObject({
      status: "completed",
      failures: { model_error: 1 },
      counts: { failed: 1, total: 1 },
    });
  });

  it("keeps the scores of an older version until the new one has some, with that version's texts", async () => {
    const first = await scored([{ id: "one", contexts: ["old a", "old b"] }]);
    const { submission, job } = await recorded([{ id: "one", contexts: ["new a", "new b"] }]);
    const path = `${documentPath("one")}?include=text`;
    expect(await read<DocumentShape>(path)).toMatchObject({
      status: "processing",
      stale: true,
      submission_id: submission,
      scored_submission_id: first,
      scores: [{ text: "old b" }, { text: "old a" }],
    });
    await succeed(db(), job, await dispatch(db(), job), NOW, [0.9, 0.1]);
    expect(await read<DocumentShape>(path)).toMatchObject({
      status: "succeeded",
      stale: false,
      scored_submission_id: submission,
      scores: [{ text: "new a" }, { text: "new b" }],
    });
    // The older submission's own results stay what they were.
    const page = await read<Page<DocumentShape>>(`/v1/submissions/${first}/results`);
    expect(page.data).toMatchObject([{ stale: false, scored_submission_id: first }]);
  });

  it("that is unknown is 404 with Retry-After, since it may be on its way", async () => {
    const response = await (await testApi()).fetch(documentPath("nothing"));
    expect([response.status, response.headers.get("retry-after")]).toEqual([404, "5"]);
    expect(await response.json()).toMatchObject({ type: "/problems/not-found" });
  });

  it.each([
    ["?top_k=0", "?top_k"],
    ["?top_k=1001", "?top_k"],
    ["?top_k=1e2", "?top_k"],
    ["?include=texts", "?include"],
    ["?include=", "?include"],
    ["?limit=1", "?limit"],
  ])("refuses %s by name", async (query, pointer) => {
    const response = await (await testApi()).fetch(documentPath("one") + query);
    expect(response.status).toBe(422);
    expect(((await response.json()) as ProblemBody).errors[0]?.pointer).toBe(pointer);
  });
});

describe("GET a submission", () => {
  it("counts its documents as they go", async () => {
    const submission = await open(db(), { total: 3 });
    const path = `/v1/submissions/${submission}`;
    expect(await read<SubmissionShape>(path)).toMatchObject({
      status: "queued",
      counts: { total: 3, queued: 3, processing: 0 },
    });
    const job = jobId();
    await record(db(), job, [[part(submission, 0, [{ id: "a" }, { id: "b" }])]]);
    expect(await read<SubmissionShape>(path)).toMatchObject({
      status: "processing",
      counts: { total: 3, queued: 1, processing: 2 },
    });
    await succeed(db(), job, await dispatch(db(), job));
    expect(await read<SubmissionShape>(path)).toMatchObject({
      status: "processing",
      counts: { total: 3, queued: 1, processing: 0, succeeded: 2 },
      usage: { tokens: 1_000, jobs: 1, unconfirmed_dispatches: 0 },
      completed_at: null,
    });
  });

  it.each(["sub_1", "sub_01999999-0000-7000-8000-000000000000", "..%2f..", "job_01999999-0000-7000-8000-000000000000"])(
    "%s that is not there is 404",
    async (id) => {
      expect((await (await testApi()).fetch(`/v1/submissions/${id}`)).status).toBe(404);
    },
  );

  it("refuses a query parameter by name", async () => {
    const response = await (await testApi()).fetch("/v1/submissions/sub_1?status=x");
    expect(response.status).toBe(422);
  });
});

describe("the list of submissions", () => {
  it("gives the newest first, page by page", async () => {
    const ids: SubmissionId[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await open(db(), { label: `l${index}` }, NOW + index));
    const seen: string[] = [];
    let query = "?limit=2";
    for (let pages = 0; pages < 3; pages += 1) {
      const page = await read<Page<SubmissionShape>>(`/v1/submissions${query}`);
      expect(page.data).toHaveLength(pages === 2 ? 1 : 2);
      seen.push(...page.data.map((one) => one.id));
      query = `?limit=2&cursor=${page.next_cursor ?? ""}`;
      expect(page.next_cursor === null).toBe(pages === 2);
    }
    expect(seen).toEqual(ids.toReversed());
  });

  it("tells failures by submission", async () => {
    const failing = async (code: "model_error" | "too_large") => {
      const { submission, job } = await recorded([{ id: code }]);
      await end(job, {
        status: "failed",
        outcomes: [{ submission, document: code, code, message: "m" }],
        children: [],
        tokens: null,
        error: null,
      });
    };
    await failing("model_error");
    await failing("too_large");
    const page = await read<Page<SubmissionShape>>("/v1/submissions");
    expect(page.data.map((one) => one.failures)).toEqual([{ too_large: 1 }, { model_error: 1 }]);
  });

  it.each([
    ["?limit=0", "?limit"],
    ["?limit=1001", "?limit"],
    ["?limit=ten", "?limit"],
    ["?cursor=rubbish", "?cursor"],
    ["?cursor=%00", "?cursor"],
    [`?cursor=${btoa('{"before":"sub_1"}')}`, "?cursor"],
    [`?cursor=${btoa('{"part":0,"index":1}')}`, "?cursor"],
    ["?state=queued", "?state"],
  ])("refuses %s by name", async (query, pointer) => {
    const response = await (await testApi()).fetch(`/v1/submissions${query}`);
    expect(response.status).toBe(422);
    expect(((await response.json()) as ProblemBody).errors[0]?.pointer).toBe(pointer);
  });
});

describe("the results of a submission", () => {
  const ids = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({ id: `d${from + index}` }));

  /** 30 documents in three parts; the second part's failed, the third's are under way. */
  async function mixed(): Promise<SubmissionId> {
    const submission = await open(db(), { total: 30 });
    const jobs = [jobId(), jobId(), jobId()] as const;
    for (const [number, job] of jobs.entries()) {
      await record(db(), job, [[part(submission, number, ids(number * 10, number * 10 + 10), number * 10)]]);
    }
    await succeed(db(), jobs[0], await dispatch(db(), jobs[0]));
    const outcomes = ids(10, 20).map(
      ({ id }) => ({ submission, document: id, code: "model_error", message: "m" }) as const,
    );
    await end(jobs[1], { status: "failed", outcomes, children: [], tokens: null, error: null });
    return submission;
  }

  async function pages(path: string): Promise<string[][]> {
    const all: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Page<DocumentShape> = await read(`${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      all.push(page.data.map((one) => one.id));
      cursor = page.next_cursor;
    }
    return all;
  }

  it("come in the order of the push, page by page, each once", async () => {
    const submission = await mixed();
    const all = await pages(`/v1/submissions/${submission}/results?limit=7`);
    expect(all.map((page) => page.length)).toEqual([7, 7, 7, 7, 2]);
    expect(all.flat()).toEqual(ids(0, 30).map((one) => one.id));
    expect(await pages(`/v1/submissions/${submission}/results?limit=30`)).toHaveLength(1);
  });

  it("of one status only, over all parts", async () => {
    const submission = await mixed();
    const of = async (status: string) =>
      (await pages(`/v1/submissions/${submission}/results?limit=4&status=${status}`)).flat();
    expect(await of("succeeded")).toEqual(ids(0, 10).map((one) => one.id));
    expect(await of("failed")).toEqual(ids(10, 20).map((one) => one.id));
    expect(await of("processing")).toEqual(ids(20, 30).map((one) => one.id));
    expect(await of("canceled")).toEqual([]);
  });

  it("come as NDJSON whole, in the same shape", async () => {
    const submission = await mixed();
    const response = await (
      await testApi()
    ).fetch(`/v1/submissions/${submission}/results?include=text&top_k=1`, {
      headers: { accept: "text/html, application/x-ndjson;q=0.9" },
    });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await text(response))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as DocumentShape);
    expect(lines.map((one) => one.id)).toEqual(ids(0, 30).map((one) => one.id));
    expect(lines[0]?.scores).toEqual([{ rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "two" }]);
    const { data } = await read<Page<DocumentShape>>(`/v1/submissions/${submission}/results?include=text&top_k=1`);
    expect(lines).toEqual(data);
  });

  it("go on behind a document that came, in pages and as NDJSON", async () => {
    const submission = await mixed();
    const path = `/v1/submissions/${submission}/results`;
    const [, , , last] = ids(0, 30);
    const rest = ids(4, 30).map((one) => one.id);
    expect((await pages(`${path}?limit=7&after=${last?.id}`)).flat()).toEqual(rest);
    const stream = await (
      await testApi()
    ).fetch(`${path}?after=${last?.id}`, { headers: { accept: "application/x-ndjson" } });
    const lines = (await text(stream)).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as DocumentShape).id)).toEqual(rest);
    expect((await pages(`${path}?after=${ids(29, 30)[0]?.id}`)).flat()).toEqual([]);
    const refused = async (after: string) => {
      const response = await (await testApi()).fetch(`${path}?after=${after}`);
      return ((await response.json()) as ProblemBody).errors[0];
    };
    expect((await refused("nobody"))?.pointer).toBe("?after");
    for (const after of ["", ".", "a".repeat(257)]) {
      expect(await refused(after)).toEqual({
        pointer: "?after",
        detail: "must be the id of a document of the results: omit it to start over",
      });
    }
  });

  it("as NDJSON stop at the limit, and are empty where nothing is recorded", async () => {
    const submission = await mixed();
    const read = async (path: string) => {
      const response = await (await testApi()).fetch(path, { headers: { accept: "application/x-ndjson" } });
      return (await text(response)).split("\n").filter((line) => line !== "");
    };
    expect(await read(`/v1/submissions/${submission}/results?limit=3`)).toHaveLength(3);
    expect(await read(`/v1/submissions/${await open(db())}/results`)).toEqual([]);
  });

  it("as NDJSON are read from D1 as they are taken, and no further once their reader is gone", async () => {
    const submission = await open(db(), { total: 5_000 });
    for (let number = 0; number < 10; number += 1) {
      await record(db(), jobId(), [[part(submission, number, ids(number * 500, number * 500 + 500), number * 500)]]);
    }
    const { d1, counts } = countedDatabase(env.DB);
    const response = await (
      await testApi({ db: openDatabase(d1) })
    ).fetch(`/v1/submissions/${submission}/results`, { headers: { accept: "application/x-ndjson" } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const asked = counts.length;
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value).trimEnd().split("\n")).toHaveLength(1_000);
    const page = counts.length - asked;
    await reader.read();
    expect(counts.length).toBe(asked + 2 * page);
    await reader.cancel();
    // What would go on by itself does so within a few turns.
    for (let turns = 0; turns < 20; turns += 1) await db().run("SELECT 1");
    expect(counts.length).toBe(asked + 2 * page);
  });

  it("read rows in proportion to the documents of the page, in whatever state", async () => {
    const submission = await open(db(), { total: 800 });
    const jobs = [jobId(), jobId()] as const;
    await record(db(), jobs[0], [[part(submission, 0, ids(0, 400))]]);
    await record(db(), jobs[1], [[part(submission, 1, ids(400, 800), 400)]]);
    await succeed(db(), jobs[0], await dispatch(db(), jobs[0]));
    const { d1, counts } = countedDatabase(env.DB);
    const response = await (
      await testApi({ db: openDatabase(d1) })
    ).fetch(`/v1/submissions/${submission}/results?limit=1000`);
    expect(((await response.json()) as Page<DocumentShape>).data).toHaveLength(800);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(800 * 13);
  });

  it("keep a page near 4 MB, however much is asked for", async () => {
    const submission = await open(db(), { total: 8 });
    const big = Array.from({ length: 8 }, (_, index) => ({ id: `d${index}`, query: "q".repeat(900_000) }));
    for (const [number, document] of big.entries())
      await record(db(), jobId(), [[part(submission, number, [document], number)]]);
    const all = await pages(`/v1/submissions/${submission}/results?limit=1000`);
    expect(all.map((page) => page.length)).toEqual([5, 3]);
  });

  it.each(["?status=done", "?cursor=rubbish", "?limit=0", "?order=asc"])("refuse %s by name", async (query) => {
    const submission = await open(db());
    const response = await (await testApi()).fetch(`/v1/submissions/${submission}/results${query}`);
    expect(response.status).toBe(422);
    expect(((await response.json()) as ProblemBody).errors[0]?.pointer).toBe(query.split("=")[0]);
  });

  it("of an unknown submission are 404", async () => {
    const path = "/v1/submissions/sub_01999999-0000-7000-8000-000000000000/results";
    expect((await (await testApi()).fetch(path)).status).toBe(404);
  });
});
