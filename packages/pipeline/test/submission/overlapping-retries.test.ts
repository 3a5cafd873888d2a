import { env } from "cloudflare:test";
import { openDatabase, type Database } from "@sluice/db";
import type { FailureCode, JobId } from "@sluice/core";
import { beforeEach, expect, it } from "vitest";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { listRetries, readRetryProgress, requestRetry } from "../../src/submission/sql/request-retry.ts";
import { failJob, recordedParts } from "../../test-support/failed-documents.ts";
import { bytes, jobId, NOW } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const context = () => ({ db, now: () => NOW, randomBytes: bytes });

/** Records a submission of three documents: `a` and `b` failed with `model_error`, and `c` with `no_answer`. */
async function failedDocuments() {
  const { submission, jobs } = await recordedParts(db, [["a"], ["b"], ["c"]]);
  const codes: FailureCode[] = ["model_error", "model_error", "no_answer"];
  for (const [index, job] of jobs.entries())
    await failJob(db, job, submission, [["a", "b", "c"][index] ?? ""], codes[index]);
  const request = (code: FailureCode | "", now = NOW) => requestRetry(db, { submission, code, token: code }, now);
  const progress = async () => {
    const [one] = await readRetryProgress(db, [submission]);
    return one === undefined ? null : [one.documentCount, one.queued];
  };
  return { submission, request, progress };
}

it("a retry of one code joins a retry of all codes in progress", async () => {
  const { submission, request, progress } = await failedDocuments();
  await request("");
  expect(await request("model_error")).toEqual({ submission, code: "" });
  expect(await listRetries(db, 10)).toEqual([{ submission, code: "" }]);
  expect(await progress()).toEqual([3, 0]);
});

it("a retry of all codes replaces those of one code, with their remaining documents", async () => {
  const { submission, request, progress } = await failedDocuments();
  await request("model_error");
  await request("no_answer");
  expect(await progress()).toEqual([3, 0]);
  await continueRetry(context(), { submission, code: "model_error" }, 1);
  expect(await rows("SELECT DISTINCT code FROM retry_parts")).toEqual([{ code: "model_error" }]);
  expect(await request("", NOW + 1)).toEqual({ submission, code: "" });
  expect(await listRetries(db, 10)).toEqual([{ submission, code: "" }]);
  expect(await rows("SELECT * FROM retry_parts")).toEqual([]);
  expect(await progress()).toEqual([3, 0]);
  expect(await continueRetry(context(), { submission, code: "model_error" }, 10)).toMatchObject({
    steps: 0,
    queued: 0,
  });
  expect(await continueRetry(context(), { submission, code: "" }, 10)).toMatchObject({ queued: 3, isComplete: true });
  expect(await progress()).toBeNull();
});

it("two retries count a document once if it failed again with the other code", async () => {
  const { submission, request, progress } = await failedDocuments();
  await request("model_error");
  await env.DB.prepare("UPDATE retries SET queued = 1").run();
  await env.DB.prepare("UPDATE outcomes SET code = 'no_answer' WHERE document_id = 'a'").run();
  expect(await progress()).toEqual([2, 1]);
  // The first has `b` left. The second has `a` and `c`.
  expect(await request("no_answer")).toEqual({ submission, code: "no_answer" });
  expect(await progress()).toEqual([3, 0]);
  await env.DB.prepare("UPDATE retries SET queued = 1 WHERE code = 'model_error'").run();
  // A repeated request returns the same retry and changes nothing.
  expect(await requestRetry(db, { submission, code: "no_answer", token: "other" }, NOW + 1)).toMatchObject({
    code: "no_answer",
  });
  expect(await progress()).toEqual([3, 1]);
});

it("a retry never shows more documents queued than it has", async () => {
  const { submission, jobs } = await recordedParts(db, [["a", "b"]]);
  await failJob(db, jobs[0] ?? jobId(), submission, ["a"]);
  const request = { submission, code: "", token: "t" } as const;
  await requestRetry(db, request, NOW);
  const later = await rows("SELECT id FROM jobs WHERE due_at IS NOT NULL");
  for (const { id } of later) await failJob(db, id as JobId, submission, ["b"]);
  await env.DB.prepare("UPDATE retries SET queued = 2").run();
  expect(await readRetryProgress(db, [submission])).toMatchObject([{ documentCount: 2, queued: 2 }]);
});
