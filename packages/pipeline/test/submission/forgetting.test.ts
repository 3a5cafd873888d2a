import { env } from "cloudflare:test";
import type { JobId, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetOldVersions } from "../../src/document/sql/forget-versions.ts";
import { readLastSequence } from "../../src/document/sql/read-feed.ts";
import { deleteEndedJobs } from "../../src/job/sql/delete-ended-jobs.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { quarantineMessage } from "../../src/message/sql/quarantine-message.ts";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { MESSAGE_LIFE_MS } from "../../src/submission/lifetimes.ts";
import { openKeyedSubmission } from "../../src/submission/sql/open-submission.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { readFailureTotals, readJobTotals, readLaneTotals } from "../../src/submission/sql/read-totals.ts";
import { countExpiredFailures, requestRetry } from "../../src/submission/sql/request-retry.ts";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { deliver, messageOf } from "../../test-support/deliver.ts";
import { runRetention } from "../../test-support/drive.ts";
import { failJob } from "../../test-support/failed-documents.ts";
import { dispatch, jobId, MODEL, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";
import { BatchService, testContext, type TestContext } from "../../test-support/index.ts";

const DAY = 86_400_000;
/** When everything that ended at `NOW` is history. */
const LATER = NOW + 30 * DAY + 1;
const MOVE = { task: "history", cursor: "null", isFirst: true, isLast: true } as const;

let db: Database;
let context: TestContext;
beforeEach(() => {
  db = openDatabase(env.DB);
  context = testContext(env.DB, new BatchService());
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const count = async (table: string) => (await rows(`SELECT count(*) AS n FROM ${table}`))[0]?.["n"];

async function recorded(ids: readonly string[], now = NOW): Promise<[SubmissionId, JobId]> {
  const submission = await open(db, { total: ids.length }, now);
  const id = jobId(now);
  await record(
    db,
    id,
    [
      [
        part(
          submission,
          0,
          ids.map((name) => ({ id: name })),
        ),
      ],
    ],
    now,
  );
  return [submission, id];
}

async function succeeded(ids: readonly string[], now = NOW): Promise<SubmissionId> {
  const [submission, id] = await recorded(ids, now);
  await succeed(db, id, await dispatch(db, id, now), now);
  return submission;
}

async function failed(ids: readonly string[]): Promise<SubmissionId> {
  const [submission, job] = await recorded(ids);
  await failJob(db, job, submission, ids);
  return submission;
}

async function retainAt(now: number, level: "normal" | "pressure" = "normal"): Promise<void> {
  context.clock.now = now;
  await runRetention(context, level);
}

const rollUp = async () => {
  while (await rollUpTotals(db, LATER + 90 * DAY));
};
const versions = () =>
  rows("SELECT document_id, submission_id, status FROM outcomes ORDER BY document_id, submission_id");
const statistics = async () => [await readLaneTotals(db), await readFailureTotals(db), await readJobTotals(db)];

describe("history", () => {
  it("ends after 30 days: hidden versions, parts, jobs, and submissions without documents", async () => {
    const first = await succeeded(["a", "b"]);
    const second = await succeeded(["a"]);
    await rollUp();
    const before = await statistics();
    await retainAt(NOW + 30 * DAY);
    expect([await count("outcomes"), await count("parts"), await count("jobs")]).toEqual([3, 2, 2]);

    await retainAt(LATER);
    expect(await versions()).toEqual([
      { document_id: "a", submission_id: second, status: "succeeded" },
      { document_id: "b", submission_id: first, status: "succeeded" },
    ]);
    expect([await count("documents"), await count("parts"), await count("jobs")]).toEqual([2, 0, 0]);
    expect(await readSubmission(db, first)).toMatchObject({ recorded: 2, succeeded: 2, forgotten: 1 });
    expect(await readSubmission(db, second)).toMatchObject({ forgotten: 0 });

    const third = await succeeded(["b"], LATER);
    await rollUp();
    const after = await statistics();
    await retainAt(LATER + 32 * DAY);
    expect(await readSubmission(db, first)).toBeNull();
    expect((await versions()).map((row) => row["submission_id"])).toEqual([second, third]);
    expect(await statistics()).toEqual(after);
    expect(before).toMatchObject([[{ total: 3, succeeded: 3 }], [], { ended: 2 }]);
  });

  it("keeps what has not ended, and the part and the jobs through which it is found", async () => {
    const [submission, job] = await recorded(["a"]);
    const [held, other] = await recorded(["b"]);
    await failJob(db, other, held, ["b"]);
    await rollUp();
    const retry = { submission: held, code: "", token: "t" } as const;
    await requestRetry(db, retry, NOW);
    const step = { db, now: () => LATER, randomBytes: context.randomBytes };
    expect(await continueRetry(step, retry, 5)).toMatchObject({ queued: 1, isComplete: true });
    await rollUp();

    for (const level of ["normal", "pressure"] as const) await retainAt(LATER + DAY, level);
    expect([await count("documents"), await count("parts"), await count("contexts")]).toEqual([2, 2, 2]);
    const kept = await rows("SELECT id, status FROM jobs ORDER BY created_at");
    expect(kept.map((row) => row["status"])).toEqual(["pending", "succeeded", "pending"]);
    expect(kept.slice(0, 2).map((row) => row["id"])).toEqual([job, other]);
    expect(await readSubmission(db, submission)).toMatchObject({ forgotten: 0 });
  });

  it("keeps failed versions and their texts for a retry, and then counts them still", async () => {
    const submission = await failed(["a", "b"]);
    await retainAt(NOW + 29 * DAY);
    expect(await count("contexts")).toBe(1);
    const before = await readFailureTotals(db);
    // Not in the totals yet, so that they have to count what is deleted.
    await retainAt(LATER);
    expect([await count("outcomes"), await count("documents"), await count("parts")]).toEqual([0, 0, 0]);
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 2, forgotten: 2 });
    expect(before).toEqual([{ code: "model_error", count: 2 }]);
    expect(await readFailureTotals(db)).toEqual(before);
    await rollUp();
    expect(await readFailureTotals(db)).toEqual(before);
    await retainAt(LATER + 2 * DAY);
    expect([await count("submissions"), await count("contexts")]).toEqual([0, 0]);
    expect(await readFailureTotals(db)).toEqual(before);
  });

  it("leaves what a retry in progress needs", async () => {
    const submission = await failed(["a"]);
    await requestRetry(db, { submission, code: "", token: "t" }, NOW);
    for (const level of ["normal", "pressure"] as const) await retainAt(LATER, level);
    expect([await count("outcomes"), await count("contexts"), await count("parts")]).toEqual([1, 1, 1]);
  });

  it("ends at any age under pressure if it is hidden, but parts outlive every message", async () => {
    const first = await succeeded(["a"]);
    const second = await succeeded(["a"]);
    const third = await failed(["a", "b"]);
    const fourth = await succeeded(["b"]);
    await retainAt(NOW + 1, "pressure");
    expect(await versions()).toEqual([
      { document_id: "a", submission_id: second, status: "succeeded" },
      { document_id: "a", submission_id: third, status: "failed" },
      { document_id: "b", submission_id: fourth, status: "succeeded" },
    ]);
    expect([await count("parts"), await count("submissions")]).toEqual([4, 4]);
    expect(await readSubmission(db, first)).toMatchObject({ forgotten: 1 });
    await rollUp();
    await retainAt(NOW + MESSAGE_LIFE_MS + 1, "pressure");
    // The part of the failed document that is not hidden stays.
    expect(await rows("SELECT submission_id FROM parts")).toEqual([{ submission_id: third }]);
    expect(await readSubmission(db, first)).toBeNull();
  });

  it("takes its texts with it, although others in their row are in progress", async () => {
    const [first, id] = await recorded(["a", "b"]);
    await dispatch(db, id);
    await succeed(db, id, [[first, ["a"]]]);
    const second = await succeeded(["a"]);
    await retainAt(NOW + 1, "pressure");
    expect(await versions()).toEqual([{ document_id: "a", submission_id: second, status: "succeeded" }]);
    expect(await rows("SELECT submission_id, document_id FROM documents ORDER BY document_id")).toEqual([
      { submission_id: second, document_id: "a" },
      { submission_id: first, document_id: "b" },
    ]);
    expect(await rows("SELECT texts ->> 0 AS forgotten, texts ->> 1 IS NULL AS lost FROM contexts")).toEqual([
      { forgotten: null, lost: 0 },
    ]);
  });

  it("leaves the number of the newest row of texts to no other row", async () => {
    const submission = await failed(["only"]);
    const [last] = await rows("SELECT max(id) AS id FROM contexts");
    const limits = { versions: LATER, hidden: LATER, parts: 0 };
    await forgetOldVersions(db, [{ submission, part: 0 }], limits, MOVE, LATER);
    expect(await count("contexts")).toBe(0);
    await recorded(["next"], LATER);
    const [next] = await rows("SELECT max(id) AS id FROM contexts");
    expect(Number(next?.["id"])).toBeGreaterThan(Number(last?.["id"]));
  });

  it("does not change when a step repeats after an error that hid its commit", async () => {
    const first = await failed(["a"]);
    await succeeded(["a"]);
    const limits = { versions: LATER, hidden: LATER, parts: LATER };
    for (let times = 0; times < 2; times += 1)
      await forgetOldVersions(db, [{ submission: first, part: 0 }], limits, MOVE, LATER);
    expect(await readSubmission(db, first)).toMatchObject({ forgotten: 1 });
    expect(await readFailureTotals(db)).toEqual([{ code: "model_error", count: 1 }]);
    expect(await rows("SELECT deleted FROM retention_progress")).toEqual([{ deleted: 1 }]);
  });

  it("counts a version once that two parts of a step reach", async () => {
    const [first, second] = [await succeeded(["a"]), await succeeded(["a"])];
    await succeeded(["a"]);
    const parts = [first, second].map((submission) => ({ submission, part: 0 }));
    await forgetOldVersions(db, parts, { versions: LATER, hidden: LATER, parts: 0 }, MOVE, LATER);
    expect(await rows("SELECT forgotten FROM submissions ORDER BY id")).toEqual([
      { forgotten: 1 },
      { forgotten: 1 },
      { forgotten: 0 },
    ]);
  });
});

describe("a message of a deleted submission", () => {
  it("is acknowledged, unlike one of a submission that never was", async () => {
    const submission = await failed(["a"]);
    await rollUp();
    for (const day of [0, 2]) await retainAt(LATER + day * DAY);
    expect(await readSubmission(db, submission)).toBeNull();
    const unknown = "sub_fffffff0-0000-7000-8000-000000000000" as SubmissionId;
    const decisions = await deliver(context, [
      messageOf(part(submission, 0, [{ id: "a" }])),
      messageOf(part(unknown, 0, [{ id: "a" }])),
    ]);
    expect(decisions).toEqual(["ack", "ack"]);
    expect(await rows("SELECT reason FROM malformed_messages")).toEqual([{ reason: "its submission is not in D1" }]);
    expect([await count("documents"), await count("jobs")]).toEqual([0, 0]);
  });

  it("gives no later submission its id", async () => {
    const submission = await failed(["a"]);
    await rollUp();
    for (const day of [0, 2]) await retainAt(LATER + day * DAY);
    expect(await count("submissions")).toBe(0);
    // D1's clock was set back.
    expect((await open(db, {}, NOW - DAY)) > submission).toBe(true);
  });
});

describe("finalized sequences", () => {
  it("never repeat after the last job is deleted, so that a feed skips nothing", async () => {
    await succeeded(["a"]);
    await rollUp();
    await retainAt(LATER);
    expect([await count("jobs"), await readLastSequence(db)]).toEqual([0, 1]);
    await succeeded(["b"], LATER);
    expect(await rows("SELECT finalized_sequence AS n FROM jobs")).toEqual([{ n: 2 }]);
  });

  it("never repeat if the next job ends as canceled", async () => {
    await succeeded(["a"]);
    await rollUp();
    await retainAt(LATER);
    const [submission, job] = await recorded(["b"], LATER);
    await dispatch(db, job, LATER);
    await env.DB.prepare("UPDATE jobs SET status = 'dispatching', request_id = NULL").run();
    await env.DB.prepare("UPDATE submissions SET cancel_requested_at = 1 WHERE id = ?").bind(submission).run();
    await startDispatch(db, { id: job, dispatchNumber: 1, status: "dispatching" }, { until: 1, token: "u" }, LATER);
    expect(await rows("SELECT status, finalized_sequence AS n FROM jobs")).toEqual([{ status: "canceled", n: 2 }]);
  });
});

describe("a job", () => {
  it("that is not in the totals stays", async () => {
    await succeeded(["a"]);
    await retainAt(LATER);
    expect(await count("jobs")).toBe(1);
  });

  it("that was merged into an open one stays, and goes once that has ended", async () => {
    const [, target] = await recorded(["a"]);
    const [, merged] = await recorded(["b"]);
    await env.DB.prepare(
      "UPDATE jobs SET status = 'merged', merged_into = ?1, due_at = NULL, ended_at = ?2 WHERE id = ?3",
    )
      .bind(target, NOW, merged)
      .run();
    const move = { ...MOVE, task: "jobs" } as const;
    await deleteEndedJobs(db, [target, merged], LATER, move, LATER);
    expect(await count("jobs")).toBe(2);
    await succeed(db, target, await dispatch(db, target));
    await rollUp();
    await deleteEndedJobs(db, [target, merged], LATER, move, LATER);
    expect(await count("jobs")).toBe(0);
  });
});

describe("a retry of failed documents whose texts expired under pressure", () => {
  it("queues only the others, and says how many cannot be", async () => {
    const submission = await failed(["a"]);
    const [other, job] = await recorded(["b"]);
    await failJob(db, job, other, ["b"]);
    expect(await countExpiredFailures(db, { submission, code: "" })).toBe(0);
    await retainAt(NOW + 1, "pressure");
    expect([await count("contexts"), await count("outcomes")]).toEqual([0, 2]);
    expect(await countExpiredFailures(db, { submission, code: "" })).toBe(1);
    expect(await countExpiredFailures(db, { submission, code: "too_large" })).toBe(0);
    const retry = { submission, code: "", token: "t" } as const;
    await requestRetry(db, retry, NOW);
    const step = { db, now: () => NOW, randomBytes: context.randomBytes };
    expect(await continueRetry(step, retry, 5)).toEqual({ queued: 0, steps: 2, isComplete: true });
    expect(await readSubmission(db, submission)).toMatchObject({ failed: 1, completedAt: NOW });
    expect(await rows("SELECT 1 FROM jobs WHERE status = 'pending'")).toEqual([]);
    expect(await count("outcomes")).toBe(2);
  });
});

describe("scores", () => {
  const retainScoresAt = async (now: number) => {
    context = { ...context, retention: { ...context.retention, scores: 40 * DAY } };
    await retainAt(now);
  };

  it("stay forever unless they are to expire, and then go with their documents", async () => {
    const submission = await succeeded(["a"]);
    await succeeded(["b"], NOW + DAY);
    await retainAt(NOW + 400 * DAY);
    expect(await count("scores")).toBe(4);
    await retainScoresAt(NOW + 40 * DAY);
    expect(await count("scores")).toBe(4);
    await env.DB.prepare("DELETE FROM retention_progress").run();
    await retainScoresAt(NOW + 40 * DAY + 1);
    expect(await rows("SELECT document_id FROM documents")).toEqual([{ document_id: "b" }]);
    expect(await rows("SELECT document_id FROM outcomes")).toEqual([{ document_id: "b" }]);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, forgotten: 1 });
  });

  it("stay while an older version would show instead", async () => {
    const [first, job] = await recorded(["a"]);
    const second = await succeeded(["a"]);
    // The older version ended long after the newer one.
    await succeed(db, job, await dispatch(db, job), NOW + 20 * DAY);
    context = { ...context, retention: { texts: 300 * DAY, history: 300 * DAY, scores: 40 * DAY } };
    await retainAt(NOW + 50 * DAY);
    expect((await versions()).map((row) => row["submission_id"])).toEqual([first, second]);
    await env.DB.prepare("DELETE FROM retention_progress").run();
    await retainAt(NOW + 61 * DAY);
    expect(await versions()).toEqual([]);
    // Texts that are kept for longer cannot outlive their documents.
    expect(await count("contexts")).toBe(0);
  });
});

it("quarantined messages are deleted after 30 days, and idempotency keys after one", async () => {
  const claim = { apiKey: "k", key: "key", fingerprint: null };
  const submission = {
    collection: "default",
    model: MODEL,
    lane: "bulk",
    label: null,
    truncateInputs: true,
    total: 1,
    closed: true,
  } as const;
  await openKeyedSubmission(db, submission, claim, "aaaa-aaaaaaaaaaaa", NOW);
  await quarantineMessage(db, { queue: "q", id: "old", reason: "r", body: "b" }, NOW);
  await quarantineMessage(db, { queue: "q", id: "new", reason: "r", body: "b" }, NOW + DAY);
  await retainAt(NOW + DAY - 1);
  expect(await count("idempotency_keys")).toBe(1);
  await retainAt(LATER);
  expect(await rows("SELECT message_id FROM malformed_messages")).toEqual([{ message_id: "new" }]);
  expect(await count("idempotency_keys")).toBe(0);
});
