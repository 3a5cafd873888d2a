import { env } from "cloudflare:test";
import { pauseDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { readRetryProgress, requestRetry } from "../../src/submission/sql/request-retry.ts";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";
import { manyFailed } from "../../test-support/failed-documents.ts";
import { documents, jobs, NOW, recordJob, rows } from "../../test-support/index.ts";
import { expect } from "vitest";
import { context, it } from "../../test-support/pipeline-test.ts";

/** Records a submission of three failed documents, with a retry that its request left unfinished. */
async function retried() {
  const { submission } = await recordJob(context.db, documents("d", 3), { now: NOW, dueAt: NOW });
  await env.DB.prepare(
    `INSERT INTO outcomes (collection, document_id, submission_id, status, model, attempts, job_id, code, message, finalized_at)
     SELECT collection, document_id, submission_id, 'failed', 'm', 3, (SELECT id FROM jobs), 'model_error', 'm', 1 FROM documents`,
  ).run();
  await env.DB.prepare("UPDATE submissions SET failed = 3, completed_at = 1, closed_at = 1").run();
  await env.DB.prepare("UPDATE jobs SET status = 'failed', due_at = NULL, ended_at = 1, finalized_sequence = 1").run();
  await requestRetry(context.db, { submission, code: "", token: "t" }, NOW);
  return submission;
}

it("continues a retry that its request left, until all of its documents have ended", async () => {
  await retried();
  await nextRun(context);
  expect(await rows(env.DB, "SELECT * FROM retries")).toEqual([]);
  expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["failed", "pending"]);
  await runUntilDone(context);
  expect(await rows(env.DB, "SELECT status, count(*) AS n FROM outcomes GROUP BY status")).toEqual([
    { status: "succeeded", n: 3 },
  ]);
  expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["failed", "succeeded"]);
});

it("continues a retry while everything is paused", async () => {
  await retried();
  await pauseDispatching(context.db, { scope: "all", reason: "requested", message: null, since: NOW, until: null });
  await nextRun(context);
  expect(await rows(env.DB, "SELECT * FROM retries")).toEqual([]);
  expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["failed", "pending"]);
});

it("queues a retry of 30,000 documents at the run after its request listed the parts", async () => {
  await pauseDispatching(context.db, { scope: "all", reason: "requested", message: null, since: NOW, until: null });
  const submission = await manyFailed(context.db, 100, 300);
  const retry = { submission, code: "", token: "t" } as const;
  await requestRetry(context.db, retry, NOW);
  await continueRetry(context, retry, 3);
  expect(await readRetryProgress(context.db, [submission])).toMatchObject([{ documentCount: 30_000, queued: 0 }]);
  await nextRun(context);
  expect(await readRetryProgress(context.db, [submission])).toEqual([]);
  expect(await rows(env.DB, "SELECT sum(document_count) AS n FROM jobs WHERE due_at IS NOT NULL")).toEqual([
    { n: 30_000 },
  ]);
});
