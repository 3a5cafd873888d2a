import { env } from "cloudflare:test";
import { uuidTail } from "@sluice/core";
import { beforeEach, describe, expect, it } from "vitest";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { endQueue } from "../../src/submission/sql/end-queue.ts";
import { keepAnswer, readIdempotencyKey } from "../../src/submission/sql/read-idempotency-key.ts";
import { openDatabase, type Database } from "@sluice/db";
import { openKeyedSubmission, openSubmission } from "../../src/submission/sql/open-submission.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { readUnfinished } from "../../src/submission/sql/read-unfinished.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { takeOverPush } from "../../src/submission/sql/take-over-push.ts";
import {
  bytes,
  dispatch,
  jobId,
  MODEL,
  NOW,
  open,
  opened,
  part,
  record,
  succeed,
} from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(async () => {
  db = openDatabase(env.DB);
  for (const table of ["submissions", "idempotency_keys", "staged_parts", "parts", "watched_submissions", "sweeps"]) {
    await env.DB.prepare(`DELETE FROM ${table}`).run();
  }
});
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KEY = { apiKey: "name", key: "k" };

async function openKeyed(total: number, closed: boolean, now = NOW) {
  const row = { collection: "default", model: MODEL, lane: "bulk", label: null, truncateInputs: true } as const;
  const claim = { ...KEY, fingerprint: "f" };
  return opened(await openKeyedSubmission(db, { ...row, total, closed }, claim, uuidTail(bytes(10)), now)).id;
}

describe("the end of a Queue", () => {
  it("ends unrecorded, unstaged documents as lost, and finds none the second time", async () => {
    const submission = await open(db, { total: 5 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{ id: "a" }])]]);
    const { body } = part(submission, 1, [{ id: "b" }, { id: "c" }], 1);
    await stagePart(db, submission, { part: 1, body, total: 5 }, NOW);
    expect(await readUnfinished(db)).toEqual([{ submission, recorded: 1, staged: 2, queued: 2 }]);

    expect(await endQueue(db, NOW + 1)).toEqual([{ submission, documentCount: 2, canceled: false }]);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 2, recorded: 1, completedAt: null });
    expect(await endQueue(db, NOW + 2)).toEqual([]);
    expect(await readUnfinished(db)).toEqual([{ submission, recorded: 1, staged: 2, queued: 0 }]);

    const second = jobId();
    await record(db, second, [[part(submission, 1, [{ id: "b" }, { id: "c" }], 1)]]);
    await succeed(db, id, await dispatch(db, id));
    await succeed(db, second, await dispatch(db, second), NOW + 3);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 2, succeeded: 3, completedAt: NOW + 3 });
  });

  it("counts a part once that was staged again after it was recorded", async () => {
    const submission = await open(db, { total: 2 });
    const first = part(submission, 0, [{ id: "a" }]);
    await record(db, jobId(), [[first]]);
    await stagePart(db, submission, { part: 0, body: first.body, total: 2 }, NOW);
    expect(await endQueue(db, NOW + 1)).toEqual([{ submission, documentCount: 1, canceled: false }]);
  });

  it("ends a submission with all documents in the Queue, and a cancellation", async () => {
    const plain = await open(db, { total: 2 });
    const canceled = await open(db, { total: 3 });
    await cancelSubmission(db, canceled, NOW);
    expect(await endQueue(db, NOW + 1)).toEqual([
      { submission: plain, documentCount: 2, canceled: false },
      { submission: canceled, documentCount: 3, canceled: true },
    ]);
    expect(await readSubmission(db, plain)).toMatchObject({ lost: 2, completedAt: NOW + 1 });
    expect(await readSubmission(db, canceled)).toMatchObject({ lost: 3, canceled: 0, completedAt: NOW + 1 });
  });

  it("closes an open push that no key can resume", async () => {
    const submission = await open(db, { total: 2, closed: false });
    expect(await endQueue(db, NOW + 1)).toEqual([{ submission, documentCount: 2, canceled: false }]);
    expect(await readSubmission(db, submission)).toMatchObject({ incomplete: true, lost: 2, completedAt: NOW + 1 });
  });

  it("closes one whose opening was retried: its token is not an Idempotency-Key", async () => {
    let isFirst = true;
    const refusing: D1Database = new Proxy(env.DB, {
      get(target, property) {
        if (property !== "batch" || !isFirst) return Reflect.get(target, property) as unknown;
        isFirst = false;
        return async () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
      },
    });
    const retryPolicy = { tries: 2, bounded: <T>(call: () => Promise<T>) => call(), rest: async () => undefined };
    const row = { collection: "default", model: MODEL, lane: "bulk", label: null, truncateInputs: true } as const;
    const opening = { ...row, total: 2, closed: false };
    const { id } = opened(await openSubmission(openDatabase(refusing, retryPolicy), opening, uuidTail(bytes(10)), NOW));
    expect(await endQueue(db, NOW + 1)).toEqual([{ submission: id, documentCount: 2, canceled: false }]);
  });

  it.each([false, true])("leaves a push that its key can resume for an hour (closed: %s)", async (closed) => {
    const submission = await openKeyed(2, closed);
    expect(await endQueue(db, NOW + HOUR)).toEqual([]);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 0, incomplete: false, completedAt: null });
    // Immediately, not after a minute: no request holds it anymore.
    expect(await takeOverPush(db, submission, "one", NOW + 1)).toBe(true);

    expect(await endQueue(db, NOW + HOUR + 2)).toEqual([{ submission, documentCount: 2, canceled: false }]);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 2, incomplete: !closed });
  });

  it("deletes the answer of a push that lost documents, so that it can be resumed", async () => {
    const submission = await openKeyed(2, true);
    await record(db, jobId(), [[part(submission, 0, [{ id: "a" }])]]);
    await keepAnswer(db, KEY, { submission, fingerprint: "f", status: 202, text: "accepted" });
    await endQueue(db, NOW + 1);
    expect(await readIdempotencyKey(db, KEY, NOW + 2)).toMatchObject({ submission, fingerprint: "f", answer: null });

    expect(await takeOverPush(db, submission, "one", NOW + 2)).toBe(true);
    expect(await readSubmission(db, submission)).toMatchObject({
      total: 2,
      lost: 0,
      closedAt: null,
      completedAt: null,
    });
    await record(db, jobId(), [[part(submission, 1, [{ id: "b" }], 1)]]);
    expect(await readSubmission(db, submission)).toMatchObject({ total: 2, recorded: 2, lost: 0 });
  });

  it.each([
    ["whose documents are all recorded", false, 1],
    ["that was canceled", true, 2],
  ])("keeps the answer of a push %s", async (_, canceled, total) => {
    const submission = await openKeyed(total, true);
    await record(db, jobId(), [[part(submission, 0, [{ id: "a" }])]]);
    await keepAnswer(db, KEY, { submission, fingerprint: "f", status: 202, text: "accepted" });
    if (canceled) await cancelSubmission(db, submission, NOW);
    await endQueue(db, NOW + 1);
    expect(await readIdempotencyKey(db, KEY, NOW + 2)).toMatchObject({ answer: "accepted" });
  });
});

describe("the sweep", () => {
  const DAY = 24 * HOUR;
  const sweep = (now: number) =>
    sweepSubmissions(db, {
      now,
      settledBy: now - 10 * MINUTE,
      abandonedBefore: now - HOUR,
      lostBefore: now - 8 * DAY,
    });

  it("ends a canceled submission whose message is lost, and keeps its staged parts", async () => {
    const submission = await open(db, { total: 3 });
    await record(db, jobId(), [[part(submission, 0, [{ id: "a" }])]]);
    const staged = part(submission, 1, [{ id: "b" }], 1);
    await stagePart(db, submission, { part: 1, body: staged.body, total: 3 }, NOW);
    await cancelSubmission(db, submission, NOW);
    await sweep(NOW + 7 * DAY);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 0, completedAt: null });
    await sweep(NOW + 9 * DAY);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 1, completedAt: null });
    await record(db, jobId(), [[staged]], NOW + 9 * DAY);
    expect(await readSubmission(db, submission)).toMatchObject({ canceled: 1, lost: 1, recorded: 2 });
  });
});
