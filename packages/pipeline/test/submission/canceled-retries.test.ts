import { env } from "cloudflare:test";
import type { JobId, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import { submissionScope } from "../../src/job/pause-scopes.ts";
import { dropEndedPauses, pauseDispatching, readPauses } from "../../src/job/sql/pause-dispatching.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { readRetryProgress, requestRetry } from "../../src/submission/sql/request-retry.ts";
import { listRetryParts, readRetryParts, retryFailed } from "../../src/submission/sql/retry-failed.ts";
import { failedParts, failJob, manyFailed, recordedParts } from "../../test-support/failed-documents.ts";
import { bytes, jobId, NOW } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const context = () => ({ db, now: () => NOW, randomBytes: bytes });
const all = (submission: SubmissionId) => ({ submission, code: "", token: "t" }) as const;
const openJobs = () => rows("SELECT id FROM jobs WHERE due_at IS NOT NULL");
const retryRows = () => rows("SELECT submission_id FROM retries UNION ALL SELECT submission_id FROM retry_parts");

describe("a cancellation while a retry is in progress", () => {
  it("ends the retry if every document had ended, and queues none", async () => {
    const { submission } = await failedParts(db, [["a"], ["b"]]);
    await requestRetry(db, all(submission), NOW);
    await continueRetry(context(), all(submission), 1);
    await cancelSubmission(db, submission, NOW + 5);
    expect(await retryRows()).toEqual([]);
    expect(await readRetryProgress(db, [submission])).toEqual([]);
    expect(await continueRetry(context(), all(submission), 10)).toEqual({ queued: 0, steps: 0, isComplete: true });
    expect(await openJobs()).toEqual([]);
    expect(await readSubmission(db, submission)).toMatchObject({
      cancelRequestedAt: NOW + 5,
      completedAt: NOW,
      failed: 2,
      canceled: 0,
    });
    expect(await requestRetry(db, all(submission), NOW + 6)).toBeNull();
  });

  it("leaves unreached documents failed, and cancels queued ones", async () => {
    const submission = await manyFailed(db, 3, 4_000);
    await requestRetry(db, all(submission), NOW);
    expect(await continueRetry(context(), all(submission), 3)).toMatchObject({ queued: 4_000, isComplete: false });
    await cancelSubmission(db, submission, NOW + 5);
    expect(await retryRows()).toEqual([]);
    expect(await continueRetry(context(), all(submission), 10)).toMatchObject({ queued: 0, isComplete: true });
    for (const { id } of await openJobs()) {
      const job = { id: id as JobId, dispatchNumber: 0, status: "pending" } as const;
      await startDispatch(db, job, { until: NOW + 60_000, token: "t" }, NOW + 6);
    }
    expect(await readSubmission(db, submission)).toMatchObject({
      total: 12_000,
      failed: 8_000,
      canceled: 4_000,
      completedAt: NOW + 6,
    });
  });

  it("ends the retry of a submission that is still in progress", async () => {
    const { submission, jobs } = await recordedParts(db, [["a"], ["b"]]);
    await failJob(db, jobs[0] ?? jobId(), submission, ["a"]);
    await requestRetry(db, all(submission), NOW);
    await continueRetry(context(), all(submission), 1);
    await cancelSubmission(db, submission, NOW);
    expect(await retryRows()).toEqual([]);
    expect(await openJobs()).toEqual([{ id: jobs[1] }]);
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 1, completedAt: null });
  });

  it("stops a late step of the retry", async () => {
    const { submission, jobs } = await failedParts(db, [["a", "b"]]);
    const retry = all(submission);
    await requestRetry(db, retry, NOW);
    await listRetryParts(db, retry, '["","",""]', 100);
    const [first] = await readRetryParts(db, retry, 10);
    if (first === undefined) expect.fail("no part");
    await cancelSubmission(db, submission, NOW);
    const job = { id: jobId(), root: jobs[0] ?? expect.fail("no job"), documentIds: ["a", "b"] };
    expect(await retryFailed(db, retry, "default", [first], [job], NOW)).toBeNull();
    expect(await listRetryParts(db, retry, '["","",""]', 100)).toBeNull();
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 2 });
    expect([await openJobs(), await retryRows()]).toEqual([[], []]);
  });

  it("does not change an ended submission without a retry, nor the retries of others", async () => {
    const [one, other] = [await failedParts(db, [["a"]]), await failedParts(db, [["a"]])];
    await requestRetry(db, all(other.submission), NOW);
    await cancelSubmission(db, one.submission, NOW);
    expect(await readSubmission(db, one.submission)).toMatchObject({ cancelRequestedAt: null });
    expect(await retryRows()).toEqual([{ submission_id: other.submission }]);
  });
});

it("the pause of a submission that has ended lasts as long as its retry", async () => {
  const { submission } = await failedParts(db, [["a"]]);
  const scope = submissionScope(submission);
  await pauseDispatching(db, { scope, reason: "requested", message: null, since: NOW, until: null });
  await requestRetry(db, all(submission), NOW);
  await dropEndedPauses(db, NOW);
  expect(await readPauses(db, NOW)).toMatchObject([{ scope }]);
  await cancelSubmission(db, submission, NOW);
  await dropEndedPauses(db, NOW);
  expect(await readPauses(db, NOW)).toEqual([]);
});
