import { env } from "cloudflare:test";
import { rankScores } from "@sluice/pipeline/score/rank-scores.ts";
import { postponeJob } from "@sluice/pipeline/job/sql/postpone-job.ts";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { describe, expect, it } from "vitest";
import { dispatch, jobId, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi, type ProblemBody } from "./api.ts";
import { ask, at, db, documentPath, dispatchAndEnd, recorded, scored, type Page } from "./stored.ts";

describe("GET a document", () => {
  it("gives its scores best first, under every key of the shape", async () => {
    const { submission } = await scored([{ id: "one", query: "q?", contexts: ["a", "b"], contextIds: ["x", "y"] }]);
    const job = await env.DB.prepare("SELECT id FROM jobs").first("id");
    expect(await ask<DocumentShape>(documentPath("one"))).toEqual({
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

  it("gives texts, metadata and only the best score if requested", async () => {
    await scored([{ id: "one", contexts: ["a", "b"] }]);
    const document = await ask<DocumentShape>(`${documentPath("one")}?include=text,metadata&top_k=1`);
    expect(document.scores).toEqual([
      { rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "b", text_expired_at: null },
    ]);
    expect(document).toHaveProperty("metadata", null);
  });

  it.each(["a/b", "a%2Fb", "ü €😀", "100%", "a?b#c", "%2e", "a+b"])("finds the id %j, decoded once", async (id) => {
    await scored([{ id }]);
    expect((await ask<DocumentShape>(documentPath(id))).id).toBe(id);
  });

  it("that is recorded and has not ended is processing, with its job", async () => {
    const { submission, job } = await recorded([{ id: "one" }]);
    expect(await ask<DocumentShape>(documentPath("one"))).toMatchObject({
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
    expect(await ask<DocumentShape>(documentPath("one"))).toMatchObject({
      attempts: 1,
      dispatched_at: at(NOW),
      waiting: { reason: "answer", until: at(NOW + 30_000) },
    });
  });

  it("whose job was refused waits for the next try", async () => {
    const { job } = await recorded([{ id: "one" }]);
    await startDispatch(
      db(),
      { id: job, dispatchNumber: 0, status: "pending" },
      { until: NOW + 120_000, token: "t" },
      NOW,
    );
    const refused = { id: job, dispatchNumber: 1, status: "dispatching" } as const;
    await postponeJob(
      db(),
      refused,
      { reason: "capacity", message: "no" },
      { dispatch: "none", refused: true },
      NOW + 60_000,
      NOW,
    );
    const document = await ask<DocumentShape>(documentPath("one"));
    expect(document.waiting).toEqual({ reason: "retry", until: at(NOW + 60_000) });
  });

  it("without a usable answer is found at the follow-up job", async () => {
    const { submission, job } = await recorded([{ id: "one" }, { id: "two" }]);
    const child = { id: jobId(), round: 2, members: [[submission, ["two"]]], dueAt: NOW + 5_000 } as const;
    await dispatchAndEnd(job, {
      status: "succeeded",
      outcomes: [{ submission, document: "one", scores: rankScores([1, 2], null) }],
      children: [child],
      tokens: null,
      error: null,
    });
    expect(await ask<DocumentShape>(documentPath("two"))).toMatchObject({
      status: "processing",
      job_id: child.id,
      attempts: 1,
    });
    const page = await ask<Page<DocumentShape>>(`/v1/submissions/${submission}/results`);
    expect(page.data.map((one) => [one.id, one.job_id])).toEqual([
      ["one", job],
      ["two", child.id],
    ]);
  });

  it("that failed says why, and whether a retry may help", async () => {
    const { submission, job } = await recorded([{ id: "one" }]);
    const outcome = { submission, document: "one", code: "model_error", message: "the model's words" } as const;
    await dispatchAndEnd(job, { status: "failed", outcomes: [outcome], children: [], tokens: null, error: null });
    expect(await ask<DocumentShape>(documentPath("one"))).toMatchObject({
      status: "failed",
      error: { code: "model_error", message: "the model's words", retryable: true },
      scores: [],
    });
    expect(await ask<SubmissionShape>(`/v1/submissions/${submission}`)).toMatchObject({
      status: "completed",
      failures: { model_error: 1 },
      counts: { failed: 1, total: 1 },
    });
  });

  it("keeps the scores and texts of an older version until the new one has scores", async () => {
    const { submission: first } = await scored([{ id: "one", contexts: ["old a", "old b"] }]);
    const { submission, job } = await recorded([{ id: "one", contexts: ["new a", "new b"] }]);
    const path = `${documentPath("one")}?include=text`;
    expect(await ask<DocumentShape>(path)).toMatchObject({
      status: "processing",
      stale: true,
      submission_id: submission,
      scored_submission_id: first,
      scores: [{ text: "old b" }, { text: "old a" }],
    });
    await succeed(db(), job, await dispatch(db(), job), NOW, [0.9, 0.1]);
    expect(await ask<DocumentShape>(path)).toMatchObject({
      status: "succeeded",
      stale: false,
      scored_submission_id: submission,
      scores: [{ text: "new a" }, { text: "new b" }],
    });
    // The older submission's own results stay what they were.
    const page = await ask<Page<DocumentShape>>(`/v1/submissions/${first}/results`);
    expect(page.data).toMatchObject([{ stale: false, scored_submission_id: first }]);
  });

  it("that is unknown is 404 with Retry-After, since it may not be recorded yet", async () => {
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
