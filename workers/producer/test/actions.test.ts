import { env } from "cloudflare:test";
import { MESSAGE_LIFE_MS } from "@sluice/pipeline/job/schedule.ts";
import { openDatabase } from "@sluice/db";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { sweepSubmissions } from "@sluice/pipeline/submission/sql/sweep-submissions.ts";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { parseKeys } from "../src/http/keys.ts";
import { KEY, NOW, keyRecord, testApi } from "./api.ts";
import { ask, db, endJob, failed, ids, post, recorded, refused, scored, scoresOf } from "./stored.ts";

const limited = async () =>
  testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { collections: ["mine"] })])) });
const documentPath = (id: string, collection = "default") =>
  `/v1/collections/${collection}/documents/${encodeURIComponent(id)}`;
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

describe("canceling a submission", () => {
  it("says so, and ends what is not dispatched when its turn comes", async () => {
    const { submission, job } = await recorded(ids(0, 3));
    const path = `/v1/submissions/${submission}`;
    expect(await ask<SubmissionShape>(`${path}/cancel`, post())).toMatchObject({ id: submission, status: "canceling" });
    await startDispatch(db(), { id: job, dispatchNumber: 0, status: "pending" }, { until: NOW + 1, token: "t" }, NOW);
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "canceled",
      counts: { total: 3, canceled: 3, processing: 0 },
      waiting: null,
    });
  });

  it("lets what is dispatched finish", async () => {
    const { submission, job } = await recorded(ids(0, 1));
    const members = await dispatch(db(), job);
    await ask(`/v1/submissions/${submission}/cancel`, post());
    await succeed(db(), job, members);
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ status: "canceled", counts: { succeeded: 1 } });
  });

  it("ends what is in the Queue as canceled on arrival, and as lost if it never arrives", async () => {
    const submission = await open(db(), { total: 3 });
    const path = `/v1/submissions/${submission}`;
    expect(await ask<SubmissionShape>(`${path}/cancel`, post())).toMatchObject({
      status: "canceling",
      counts: { queued: 3, canceled: 0 },
    });
    await record(db(), jobId(), [[part(submission, 0, ids(0, 1))]]);
    expect(await ask<SubmissionShape>(path)).toMatchObject({ status: "canceling", counts: { queued: 2, canceled: 1 } });
    const later = NOW + MESSAGE_LIFE_MS + 1;
    await sweepSubmissions(db(), {
      now: later,
      settledBy: later,
      abandonedBefore: NOW,
      lostBefore: later - MESSAGE_LIFE_MS,
    });
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "canceled",
      counts: { total: 3, queued: 0, canceled: 1, failed: 2 },
      failures: { message_lost: 2 },
      stalled: null,
      waiting: null,
    });
  });

  it("repeated, or after its end, changes nothing", async () => {
    const { submission } = await scored(ids(0, 1));
    const path = `/v1/submissions/${submission}/cancel`;
    expect(await ask(path, post())).toMatchObject({ status: "completed", counts: { succeeded: 1 } });
    expect(await ask(path, post())).toMatchObject({ status: "completed" });
  });

  it.each(["sub_01999999-0000-7000-8000-000000000000", "nothing"])("that is not there is 404: %s", async (id) => {
    for (const verb of ["cancel", "retry"]) {
      const { response } = await refused(`/v1/submissions/${id}/${verb}`, post());
      expect(response.status).toBe(404);
    }
  });

  it("of another collection is 404", async () => {
    const { submission } = await recorded(ids(0, 1), { collection: "other" });
    for (const verb of ["cancel", "retry"]) {
      const { response } = await refused(`/v1/submissions/${submission}/${verb}`, post(), await limited());
      expect(response.status).toBe(404);
    }
    expect(await rows("SELECT cancel_requested_at FROM submissions")).toEqual([{ cancel_requested_at: null }]);
  });
});

describe("retrying a submission", () => {
  it("queues its failed documents again under the same version, in one job, and opens it again", async () => {
    const { submission } = await failed(ids(0, 5));
    const answer = await ask<{ submission: SubmissionShape; queued: number }>(
      `/v1/submissions/${submission}/retry`,
      post(),
    );
    expect(answer.queued).toBe(5);
    expect(answer.submission).toMatchObject({
      status: "processing",
      counts: { total: 5, processing: 5, failed: 0 },
      failures: {},
      completed_at: null,
    });
    const [job] = await rows("SELECT id, document_count, lane FROM jobs WHERE due_at IS NOT NULL");
    expect(job).toMatchObject({ document_count: 5, lane: "bulk" });
    expect(await ask<DocumentShape>(documentPath("d3"))).toMatchObject({
      status: "processing",
      job_id: job?.["id"],
      submission_id: submission,
      waiting: { reason: "dispatch" },
    });
  });

  it("takes those of one code only, where it is named", async () => {
    const submission = await open(db(), { total: 4 });
    const jobs = [jobId(), jobId()] as const;
    for (const [number, job] of jobs.entries()) {
      const documents = ids(number * 2, number * 2 + 2);
      await record(db(), job, [[part(submission, number, documents, number * 2)]]);
      await dispatch(db(), job);
      const code = number === 0 ? "model_error" : "too_large";
      const outcomes = documents.map(({ id }) => ({ submission, document: id, code, message: "m" }) as const);
      await endJob(job, { status: "failed", outcomes, children: [], tokens: null, error: null });
    }
    const answer = await ask<{ submission: SubmissionShape; queued: number }>(
      `/v1/submissions/${submission}/retry?code=too_large`,
      post(),
    );
    expect([answer.queued, answer.submission.failures]).toEqual([2, { model_error: 2 }]);
    const { problem } = await refused(`/v1/submissions/${submission}/retry?code=nonsense`, post());
    expect(problem.errors[0]?.pointer).toBe("?code");
  });

  it("finds documents that failed in many pieces of a job, in as few jobs as fit", async () => {
    const { submission, job } = await recorded(ids(0, 6));
    await dispatch(db(), job);
    const pieces = ids(0, 6).map(
      ({ id }) => ({ id: jobId(), round: 1, members: [[submission, [id]]], dueAt: NOW }) as const,
    );
    await endJob(job, { status: "split", outcomes: [], children: pieces, tokens: null, error: null });
    for (const piece of pieces) {
      await dispatch(db(), piece.id);
      const [[, [document]]] = piece.members;
      const outcome = { submission, document, code: "invalid_input", message: "m" } as const;
      await endJob(piece.id, { status: "failed", outcomes: [outcome], children: [], tokens: null, error: null });
    }
    expect(await ask(`/v1/submissions/${submission}/retry`, post())).toMatchObject({ queued: 6 });
    const open = await rows("SELECT id, parent_id, document_count FROM jobs WHERE due_at IS NOT NULL");
    expect(open).toMatchObject([{ parent_id: job, document_count: 6 }]);
    expect(await ask(documentPath("d5"))).toMatchObject({ status: "processing", job_id: open[0]?.["id"] });
  });

  it("of many roots takes fewer than 50 statements, and says how far it is", async () => {
    const submission = await open(db(), { total: 3_000 });
    const code = "model_error";
    for (let number = 0; number < 3; number += 1) {
      const job = jobId();
      for (const half of [0, 1]) {
        const index = 2 * number + half;
        await record(db(), job, [[part(submission, index, ids(500 * index, 500 * (index + 1)), 500 * index)]]);
      }
      await dispatch(db(), job);
      const outcomes = ids(1_000 * number, 1_000 * (number + 1)).map(
        ({ id }) => ({ submission, document: id, code, message: "m" }) as const,
      );
      await endJob(job, { status: "failed", outcomes, children: [], tokens: null, error: null });
    }
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    const path = `/v1/submissions/${submission}/retry`;
    const answer = await ask<{ submission: SubmissionShape; queued: number }>(path, post(), api);
    expect(counts.length).toBeLessThan(50);
    expect([answer.queued, answer.submission.retry]).toEqual([3_000, null]);
    await env.DB.prepare(
      "INSERT INTO retries (submission_id, code, token, requested_at, documents, queued) VALUES (?1, '', 't', ?2, 20000, 9)",
    )
      .bind(submission, NOW)
      .run();
    expect((await ask<SubmissionShape>(`/v1/submissions/${submission}`)).retry).toEqual({
      documents: 20_000,
      queued: 9,
      since: new Date(NOW).toISOString(),
    });
  });

  it("says how many documents the Queue lost, which it cannot queue again", async () => {
    const { submission } = await failed(ids(0, 2));
    await env.DB.prepare("UPDATE submissions SET total = total + 3, lost = 3 WHERE id = ?1").bind(submission).run();
    const path = `/v1/submissions/${submission}/retry`;
    expect(await ask(path, post())).toMatchObject({ queued: 2, lost: 3 });
    expect(await ask(`${path}?code=message_lost`, post())).toMatchObject({ queued: 0, lost: 3 });
  });

  it("queues nothing where nothing failed", async () => {
    const { submission } = await scored(ids(0, 2));
    expect(await ask(`/v1/submissions/${submission}/retry`, post())).toMatchObject({
      queued: 0,
      submission: { status: "completed" },
    });
  });

  it("of a canceled submission is 409, without a time to come again", async () => {
    const submission = await open(db(), { total: 2 });
    const [first, second] = [jobId(), jobId()];
    await record(db(), first, [[part(submission, 0, ids(0, 1))]]);
    await dispatch(db(), first);
    const outcome = { submission, document: "d0", code: "model_error", message: "m" } as const;
    await endJob(first, { status: "failed", outcomes: [outcome], children: [], tokens: null, error: null });
    await ask(`/v1/submissions/${submission}/cancel`, post());
    await record(db(), second, [[part(submission, 1, ids(1, 2), 1)]]);
    const { response, problem } = await refused(`/v1/submissions/${submission}/retry`, post());
    expect([response.status, problem.type, response.headers.get("retry-after")]).toEqual([
      409,
      "/problems/conflict",
      null,
    ]);
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({
      status: "canceled",
      counts: { failed: 1, canceled: 1 },
    });
  });

  it("makes no job heavier than a job may be", async () => {
    const heavy = Array.from({ length: 12 }, (_, index) => ({ id: `d${index}`, query: "q".repeat(900_000) }));
    const submission = await open(db(), { total: heavy.length });
    const job = jobId();
    for (const [number, document] of heavy.entries())
      await record(db(), job, [[part(submission, number, [document], number)]]);
    await dispatch(db(), job);
    const outcomes = heavy.map(({ id }) => ({ submission, document: id, code: "no_answer", message: "m" }) as const);
    await endJob(job, { status: "failed", outcomes, children: [], tokens: null, error: null });
    expect(await ask(`/v1/submissions/${submission}/retry`, post())).toMatchObject({ queued: 12 });
    const open2 = await rows("SELECT payload_bytes FROM jobs WHERE due_at IS NOT NULL");
    expect(open2).toHaveLength(2);
    for (const one of open2) expect(one["payload_bytes"]).toBeLessThanOrEqual(9_500_000);
  });
});

describe("deleting a document", () => {
  it("forgets all its versions, and it is gone from every reading", async () => {
    const first = await scored([{ id: "a" }, { id: "b" }]);
    await scored([{ id: "a" }]);
    expect(await ask(documentPath("a"), { method: "DELETE" })).toEqual({ deleted: 2 });
    expect((await refused(documentPath("a"))).response.status).toBe(404);
    expect((await refused(documentPath("a"), { method: "DELETE" })).response.status).toBe(404);
    const results = await ask<{ data: DocumentShape[] }>(`/v1/submissions/${first.submission}/results`);
    expect(results.data.map((one) => one.id)).toEqual(["b"]);
    expect((await ask<{ data: DocumentShape[] }>("/v1/results")).data.map((one) => one.id)).toEqual(["b"]);
    expect(await rows("SELECT DISTINCT document_id FROM scores")).toEqual([{ document_id: "b" }]);
  });

  it("in flight counts as canceled, and its answer is dropped", async () => {
    const { submission, job } = await recorded(ids(0, 2));
    await dispatch(db(), job);
    await ask(documentPath("d0"), { method: "DELETE" });
    const outcomes = ids(0, 2).map(({ id }) => scoresOf(submission, id));
    await endJob(job, { status: "succeeded", outcomes, children: [], tokens: 1, error: null });
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({
      status: "completed",
      counts: { total: 2, succeeded: 1, canceled: 1 },
    });
    expect((await refused(documentPath("d0"))).response.status).toBe(404);
  });

  it("of another collection is 404, and it stays", async () => {
    await scored([{ id: "a" }], { collection: "other" });
    const { response } = await refused(documentPath("a", "other"), { method: "DELETE" }, await limited());
    expect(response.status).toBe(404);
    expect(await ask(documentPath("a", "other"))).toMatchObject({ id: "a" });
  });
});

describe("documents by their ids", () => {
  const path = (...asked: string[]) =>
    `/v1/collections/default/documents?${asked.map((id) => `id=${encodeURIComponent(id)}`).join("&")}`;

  it("come in the order asked, each in its newest version, unknown ones named", async () => {
    await scored([{ id: "a" }, { id: "b/é" }]);
    const { submission } = await recorded([{ id: "a" }]);
    const answer = await ask<{ data: DocumentShape[]; missing: string[] }>(path("b/é", "nothing", "a"));
    expect(answer.data.map((one) => [one.id, one.status, one.stale])).toEqual([
      ["b/é", "succeeded", false],
      ["a", "processing", true],
    ]);
    expect(answer.data[1]).toMatchObject({ submission_id: submission });
    expect(answer.missing).toEqual(["nothing"]);
  });

  it("show what is asked for", async () => {
    await scored([{ id: "a", contexts: ["one", "two"] }]);
    const answer = await ask<{ data: DocumentShape[] }>(`${path("a")}&include=text&top_k=1`);
    expect(answer.data[0]?.scores).toEqual([{ rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "two" }]);
  });

  it("are all missing to a key of other collections", async () => {
    await scored([{ id: "a" }]);
    expect(await ask(path("a"), {}, await limited())).toEqual({ data: [], missing: ["a"] });
  });

  it.each([
    ["none", "/v1/collections/default/documents"],
    ["101", path(...Array.from({ length: 101 }, (_, index) => `d${index}`))],
  ])("are refused where there are %s", async (_, url) => {
    const { response, problem } = await refused(url);
    expect([response.status, problem.errors[0]?.pointer]).toEqual([422, "?id"]);
  });

  it("of more than 20 MB are refused, not held", async () => {
    const big = Array.from({ length: 23 }, (_, index) => ({ id: `d${index}`, query: "q".repeat(900_000) }));
    const submission = await open(db(), { total: big.length });
    for (const [number, document] of big.entries())
      await record(db(), jobId(), [[part(submission, number, [document], number)]]);
    const { response, problem } = await refused(path(...big.map((one) => one.id)));
    expect([response.status, problem.detail]).toEqual([422, expect.stringContaining("20 MB")]);
    expect((await ask<{ data: unknown[] }>(path("d0", "d1"))).data).toHaveLength(2);
  });

  it("read rows in proportion to themselves", async () => {
    await scored(ids(0, 400));
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    expect((await ask<{ data: unknown[] }>(path(...ids(0, 100).map((one) => one.id)), {}, api)).data).toHaveLength(100);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(100 * 14);
  });
});
