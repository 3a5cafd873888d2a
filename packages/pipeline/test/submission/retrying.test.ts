import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { env } from "cloudflare:test";
import type { JobId, SubmissionId } from "@sluice/core";
import { beforeEach, describe, expect, it } from "vitest";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { listRetries, readRetryProgress, requestRetry } from "../../src/submission/sql/request-retry.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import {
  endRetry,
  listFailed,
  listRetryParts,
  readRetryParts,
  retryFailed,
} from "../../src/submission/sql/retry-failed.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { failedParts, failJob, manyFailed, recordedParts } from "../../test-support/failed-documents.ts";
import { bytes, dispatch, jobId, NOW, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const context = (from = db, now = NOW) => ({ db: from, now: () => now, randomBytes: bytes });

const all = (submission: SubmissionId) => ({ submission, code: "", token: "t" }) as const;
const waiting = () =>
  rows("SELECT id, parent_id, round, members FROM jobs WHERE due_at IS NOT NULL ORDER BY parent_id");

describe("a retry", () => {
  it("queues failed documents once, with their version, those of a root in one job", async () => {
    const { submission, jobs } = await failedParts(db, [["b", "a"], ["c"]]);
    expect(await requestRetry(db, all(submission), NOW)).toEqual({ submission, code: "" });
    expect(await continueRetry(context(), all(submission), 10)).toEqual({ queued: 3, steps: 2, isComplete: true });
    expect(await waiting()).toMatchObject(
      [
        { parent_id: jobs[0], round: 1, members: JSON.stringify([[submission, ["b", "a"]]]) },
        { parent_id: jobs[1], round: 1, members: JSON.stringify([[submission, ["c"]]]) },
      ].toSorted((a, b) => (String(a.parent_id) < String(b.parent_id) ? -1 : 1)),
    );
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 0, completedAt: null });
    expect(await rows("SELECT document_id FROM outcomes")).toEqual([]);
    expect(await listRetries(db, 10)).toEqual([]);
    // No documents are failed anymore.
    expect(await requestRetry(db, all(submission), NOW)).toBeNull();
    for (const { id } of await waiting()) await succeed(db, id as JobId, await dispatch(db, id as JobId), NOW + 2);
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 0, succeeded: 3, completedAt: NOW + 2 });
  });

  it("can be limited to a code", async () => {
    const { submission, jobs } = await recordedParts(db, [["a"], ["b"]]);
    await failJob(db, jobs[0] ?? jobId(), submission, ["a"], "too_large");
    await failJob(db, jobs[1] ?? jobId(), submission, ["b"], "model_error");
    const retry = { submission, code: "too_large", token: "t" } as const;
    expect(await requestRetry(db, { ...retry, code: "no_answer" }, NOW)).toBeNull();
    await requestRetry(db, retry, NOW);
    expect(await continueRetry(context(), retry, 10)).toMatchObject({ queued: 1, isComplete: true });
    expect(await rows("SELECT document_id FROM outcomes")).toEqual([{ document_id: "b" }]);
  });

  it("does not change documents that failed with another code", async () => {
    const { submission, jobs } = await recordedParts(db, [["a", "b", "c"]]);
    const job = jobs[0] ?? jobId();
    const outcomes = (["too_large", "model_error", "too_large"] as const).map((code, index) => ({
      submission,
      document: ["a", "b", "c"][index] ?? "",
      code,
      message: "no",
    }));
    const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
    await dispatch(db, job);
    await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], NOW);
    const retry = { submission, code: "too_large", token: "t" } as const;
    await requestRetry(db, retry, NOW);
    expect(await continueRetry(context(), retry, 10)).toMatchObject({ queued: 2, isComplete: true });
    expect(await waiting()).toMatchObject([{ members: JSON.stringify([[submission, ["a", "c"]]]) }]);
    expect(await rows("SELECT document_id, code FROM outcomes")).toEqual([{ document_id: "b", code: "model_error" }]);
  });

  it("reports its progress, continues from there, and does not change when repeated", async () => {
    const { submission } = await failedParts(db, [["a"], ["b"]]);
    await requestRetry(db, all(submission), NOW);
    expect(await continueRetry(context(), all(submission), 1)).toEqual({ queued: 0, steps: 1, isComplete: false });
    expect(await readRetryProgress(db, [submission])).toEqual([
      { submission, documentCount: 2, queued: 0, requestedAt: NOW },
    ]);
    expect(await requestRetry(db, all(submission), NOW + 5)).toEqual({ submission, code: "" });
    expect(await rows("SELECT requested_at FROM retries")).toEqual([{ requested_at: NOW }]);
    expect(await listRetries(db, 10)).toEqual([{ submission, code: "" }]);
    expect(await continueRetry(context(), all(submission), 1)).toEqual({ queued: 2, steps: 1, isComplete: true });
  });

  it("skips documents that were deleted in between", async () => {
    const { submission } = await failedParts(db, [["a", "b"], ["c"]]);
    await requestRetry(db, all(submission), NOW);
    await continueRetry(context(), all(submission), 1);
    for (const id of ["a", "c"]) await deleteDocument(db, { collection: "default", id }, NOW);
    expect(await continueRetry(context(), all(submission), 10)).toMatchObject({ queued: 1, isComplete: true });
    expect(await rows("SELECT members FROM jobs WHERE due_at IS NOT NULL")).toEqual([
      { members: JSON.stringify([[submission, ["b"]]]) },
    ]);
  });

  it("removes a submission from the totals once if it is retried before the next fold", async () => {
    const { submission } = await failedParts(db, [["a"]]);
    while (await rollUpTotals(db, NOW + 3_600_000));
    for (let retries = 0; retries < 2; retries += 1) {
      await requestRetry(db, all(submission), NOW);
      await continueRetry(context(), all(submission), 10);
      expect(await rows("SELECT total, failed FROM totals WHERE kind = 'lane'")).toEqual([{ total: 0, failed: 0 }]);
      for (const { id } of await waiting()) await failJob(db, id as JobId, submission, ["a"]);
    }
    while (await rollUpTotals(db, NOW + 3_600_000));
    expect(await rows("SELECT total, failed FROM totals WHERE kind = 'lane'")).toEqual([{ total: 1, failed: 1 }]);
  });
});

describe("a late repeat of a step of a retry", () => {
  async function planned() {
    const { submission, jobs } = await failedParts(db, [["a", "b"]]);
    const retry = all(submission);
    await requestRetry(db, retry, NOW);
    const listed = await listRetryParts(db, retry, '["","",""]', 100);
    const [first] = await readRetryParts(db, retry, 10);
    const root = jobs[0] ?? expect.fail("no job");
    if (first === undefined) expect.fail("no part");
    const job = { id: jobId(), root, documentIds: ["a", "b"] };
    return { submission, retry, listed, parts: [first] as const, job };
  }

  it("lists nothing twice", async () => {
    const { retry, listed } = await planned();
    expect(listed).toMatchObject({ listedThrough: null, hasParts: true, queued: 0 });
    expect(await listRetryParts(db, retry, '["","",""]', 100)).toMatchObject({ listedThrough: null });
    expect(await rows("SELECT count(*) AS n FROM retry_parts")).toEqual([{ n: 1 }]);
  });

  it("does not change documents that failed again in its own job", async () => {
    const { submission, retry, parts, job } = await planned();
    expect(await retryFailed(db, retry, "default", parts, [job], NOW)).toMatchObject({ queued: 2, hasParts: false });
    await failJob(db, job.id, submission, ["a", "b"]);
    for (const id of [job.id, jobId()])
      expect(await retryFailed(db, retry, "default", parts, [{ ...job, id }], NOW + 1)).toMatchObject({ queued: 2 });
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 2, completedAt: NOW });
    expect(await rows("SELECT job_id FROM outcomes")).toEqual([{ job_id: job.id }, { job_id: job.id }]);
    expect(await rows("SELECT count(*) AS n FROM jobs")).toEqual([{ n: 2 }]);
  });

  it("does not change a later retry of the same documents", async () => {
    const { retry, parts, job } = await planned();
    await env.DB.prepare("UPDATE retries SET token = 'later'").run();
    expect(await retryFailed(db, retry, "default", parts, [job], NOW)).toMatchObject({ token: "later", queued: 0 });
    expect(await rows("SELECT count(*) AS n FROM retry_parts")).toEqual([{ n: 1 }]);
    expect(await rows("SELECT count(*) AS n FROM outcomes")).toEqual([{ n: 2 }]);
    await env.DB.prepare("DELETE FROM retry_parts").run();
    await endRetry(db, retry);
    expect(await rows("SELECT token FROM retries")).toEqual([{ token: "later" }]);
  });
});

describe("a retry of many documents", () => {
  it.each([
    [783, 3],
    [5_000, 1],
    [6, 5_000],
  ])("sends few statements per step, and creates one job per root: %i roots of %i", async (roots, perRoot) => {
    const submission = await manyFailed(db, roots, perRoot);
    const { d1, counts } = countedDatabase(env.DB);
    const counted = openDatabase(d1);
    await requestRetry(counted, all(submission), NOW);
    let through = false;
    for (let calls = 0; !through; calls += 1) {
      counts.length = 0;
      const { isComplete, steps } = await continueRetry(context(counted), all(submission), 3);
      through = isComplete;
      expect(steps).toBeLessThanOrEqual(3);
      expect(counts.length).toBeLessThanOrEqual(3 * 12 + 3);
      expect(calls).toBeLessThanOrEqual(20);
      for (const { statement, read } of counts) expect(read, statement).toBeLessThanOrEqual(150_000);
    }
    expect(await rows("SELECT count(*) AS n FROM jobs WHERE due_at IS NOT NULL")).toEqual([{ n: roots }]);
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 0 });
  });

  it("queues a root larger than a step in one job with its neighbors", async () => {
    const submission = await manyFailed(db, 1, 9_000);
    await requestRetry(db, all(submission), NOW);
    expect(await continueRetry(context(), all(submission), 2)).toMatchObject({ queued: 9_000, isComplete: true });
    expect(await rows("SELECT document_count FROM jobs WHERE due_at IS NOT NULL")).toEqual([{ document_count: 9_000 }]);
  });

  it("reads the failures of its documents once, without those of others", async () => {
    const submission = await manyFailed(db, 100, 250);
    const { d1, counts } = countedDatabase(env.DB);
    const retry = all(submission);
    await requestRetry(db, retry, NOW);
    const first = await listRetryParts(openDatabase(d1), retry, '["","",""]', 10_000);
    counts.length = 0;
    await listRetryParts(openDatabase(d1), retry, first?.listedThrough ?? "", 10_000);
    for (const { statement, read } of counts) expect(read, statement).toBeLessThanOrEqual(41_000);
    expect(await listFailed(db, retry, "default", [{ part: 3 }])).toHaveLength(250);
  });
});
