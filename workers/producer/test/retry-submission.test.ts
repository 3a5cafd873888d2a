import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { dispatch, jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi } from "./api.ts";
import { ask, db, documentPath, endJob, failed, ids, post, recorded, refused, rows, scored } from "./stored.ts";

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

  it("is limited to one code if one is given", async () => {
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

  it("finds documents that failed in many split jobs, and packs them into as few jobs as fit", async () => {
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

  it("of many root jobs takes fewer than 50 statements, and shows its progress", async () => {
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

  it("counts the documents that the Queue lost and that cannot be queued again", async () => {
    const { submission } = await failed(ids(0, 2));
    await env.DB.prepare("UPDATE submissions SET total = total + 3, lost = 3 WHERE id = ?1").bind(submission).run();
    const path = `/v1/submissions/${submission}/retry`;
    expect(await ask(path, post())).toMatchObject({ queued: 2, lost: 3 });
    expect(await ask(`${path}?code=message_lost`, post())).toMatchObject({ queued: 0, lost: 3 });
  });

  it("counts the failed documents whose texts expired under pressure", async () => {
    const { submission } = await failed(ids(0, 2));
    await env.DB.prepare("DELETE FROM contexts").run();
    await env.DB.prepare("INSERT INTO retention_progress (task, deleted) VALUES ('failed_texts', 1)").run();
    expect(await ask(`/v1/submissions/${submission}/retry`, post())).toMatchObject({
      queued: 0,
      lost: 0,
      expired: 2,
      submission: { status: "completed", counts: { failed: 2, processing: 0 } },
    });
  });

  it("counts the failed documents that are not stored any more", async () => {
    const { submission } = await failed(ids(0, 3));
    await env.DB.prepare("DELETE FROM outcomes WHERE submission_id = ?1 AND document_id = 'd0'").bind(submission).run();
    const path = `/v1/submissions/${submission}/retry`;
    expect(await ask(`${path}?code=too_large`, post())).toMatchObject({ queued: 0, expired: 0 });
    expect(await ask(path, post())).toMatchObject({ queued: 2, lost: 0, expired: 1 });
  });

  it("queues nothing if nothing failed", async () => {
    const { submission } = await scored(ids(0, 2));
    expect(await ask(`/v1/submissions/${submission}/retry`, post())).toMatchObject({
      queued: 0,
      submission: { status: "completed" },
    });
  });

  it("of a canceled submission is 409 without Retry-After", async () => {
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

  it("makes no job larger than the limit", async () => {
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
