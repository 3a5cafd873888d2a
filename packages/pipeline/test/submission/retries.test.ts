import { env } from "cloudflare:test";
import { requestRetry } from "../../src/submission/sql/request-retry.ts";
import { BatchService, documents, jobs, NOW, recordJob, rows, testIo } from "../../test-support/index.ts";
import { expect, it } from "vitest";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";

it("carries a retry on that its request left, until every document of it ended", async () => {
  const service = new BatchService();
  const io = testIo(env.DB, service);
  const { submission } = await recordJob(io.db, documents("d", 3), { now: NOW, dueAt: NOW });
  await env.DB.prepare(
    `INSERT INTO outcomes (collection, document_id, submission_id, status, model, attempts, job_id, code, message, finalized_at)
     SELECT collection, document_id, submission_id, 'failed', 'm', 3, (SELECT id FROM jobs), 'model_error', 'm', 1 FROM documents`,
  ).run();
  await env.DB.prepare("UPDATE submissions SET failed = 3, completed_at = 1, closed_at = 1").run();
  await env.DB.prepare("UPDATE jobs SET status = 'failed', due_at = NULL, ended_at = 1, finalized_sequence = 1").run();
  await requestRetry(io.db, { submission, code: "", token: "t" }, NOW);
  // Nothing is due: the next sweep finds it.
  for (let runs = 0; runs < 5; runs += 1) await nextRun(io);
  await runUntilDone(io);
  expect(await rows(env.DB, "SELECT status, count(*) AS n FROM outcomes GROUP BY status")).toEqual([
    { status: "succeeded", n: 3 },
  ]);
  expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["failed", "succeeded"]);
  expect(await rows(env.DB, "SELECT * FROM retries")).toEqual([]);
});
