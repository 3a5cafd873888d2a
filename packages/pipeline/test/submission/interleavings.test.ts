import { env } from "cloudflare:test";
import type { RequestId } from "@sluice/core";
import { beforeEach, describe, expect, it } from "vitest";
import { closeSubmission, reopenSubmission } from "../../src/submission/sql/close-submission.ts";
import { confirmDispatch } from "../../src/job/sql/confirm-dispatch.ts";
import { deferJob, startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { takeOverPush } from "../../src/submission/sql/take-over-push.ts";
import {
  dispatch,
  jobId,
  MODEL,
  NOW,
  open,
  part,
  record,
  succeed,
  transactionOf,
} from "../../test-support/fixtures.ts";

/*
 * Two Workers change the same rows, and one is late: it repeats a write after others wrote, or its precondition no
 * longer holds.
 */

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REQUEST = "request-1" as RequestId;

async function recorded(ids: readonly string[]) {
  const submission = await open(db, { total: ids.length });
  const id = jobId();
  const parts = [
    part(
      submission,
      0,
      ids.map((name) => ({ id: name })),
    ),
  ];
  await record(db, id, [parts]);
  return { submission, id, parts };
}

describe("a job that a pause holds", () => {
  it("with an open dispatch abandons it, so that it cannot be confirmed", async () => {
    const { submission, id } = await recorded(["a", "b"]);
    const lease = { until: NOW + MINUTE, token: "t" };
    await startDispatch(db, { id, dispatchNumber: 0, status: "pending" }, lease, NOW);
    await deleteDocument(db, { collection: "default", id: "a" }, NOW + MINUTE);
    await deferJob(db, { id, dispatchNumber: 1, status: "dispatching" }, null, NOW + MINUTE);
    // It sent both documents. If it were confirmed, its answer would be matched to a list of one.
    expect(await confirmDispatch(db, { id, dispatchNumber: 1 }, REQUEST, NOW + MINUTE)).toBe(false);
    expect(
      await rows(
        "SELECT status, dispatch_number AS dispatchNumber, due_at, document_count, unconfirmed_dispatches FROM jobs",
      ),
    ).toEqual([
      { status: "pending", dispatchNumber: 1, due_at: NOW + MINUTE, document_count: 1, unconfirmed_dispatches: 1 },
    ]);
    const again = await startDispatch(
      db,
      { id, dispatchNumber: 1, status: "pending" },
      { ...lease, token: "u" },
      NOW + HOUR,
    );
    expect(again).toEqual({ dispatchNumber: 2, members: [[submission, ["b"]]] });
    expect(await rows("SELECT unconfirmed_dispatches FROM jobs")).toEqual([{ unconfirmed_dispatches: 1 }]);
  });

  it("is not changed by a Worker that knows an older dispatch", async () => {
    const { submission, id } = await recorded(["a"]);
    await dispatch(db, id);
    await deferJob(db, { id, dispatchNumber: 0, status: "pending" }, null, NOW);
    await deferJob(db, { id, dispatchNumber: 1, status: "dispatching" }, null, NOW);
    expect(await rows("SELECT status, request_id FROM jobs")).toEqual([{ status: "dispatched", request_id: REQUEST }]);
    await succeed(db, id, [[submission, ["a"]]]);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1 });
  });
});

describe("a recording that is repeated late", () => {
  it.each(["the same job", "another job"])("by %s does not restore deleted documents", async (by) => {
    const { submission, id, parts } = await recorded(["a", "b"]);
    await deleteDocument(db, { collection: "default", id: "a" }, NOW);
    expect(await record(db, by === "the same job" ? id : jobId(), [parts])).toEqual([true]);
    expect(await rows("SELECT document_id FROM documents")).toEqual([{ document_id: "b" }]);
    expect(await rows("SELECT document_count FROM jobs")).toEqual([{ document_count: 2 }]);
    expect(await readSubmission(db, submission)).toMatchObject({ recorded: 2, canceled: 1 });
    expect(await dispatch(db, id)).toEqual([[submission, ["b"]]]);
  });

  it("does not undo a loss twice, nor cancel documents twice", async () => {
    const submission = await open(db, { total: 3 });
    await env.DB.prepare("UPDATE submissions SET lost = 3, cancel_requested_at = ?1, completed_at = ?1")
      .bind(NOW)
      .run();
    const parts = [part(submission, 0, [{ id: "a" }, { id: "b" }])];
    for (const job of [jobId(), jobId()]) await record(db, job, [parts], NOW + 1);
    expect(await readSubmission(db, submission)).toMatchObject({
      recorded: 2,
      canceled: 2,
      lost: 1,
      completedAt: NOW + 1,
    });
    expect(await rows("SELECT count(*) AS n FROM jobs")).toEqual([{ n: 0 }]);
  });

  it("after its job has ended adds nothing, so another part is redelivered", async () => {
    const submission = await open(db, { total: 2 });
    const id = jobId();
    const [first, second] = [part(submission, 0, [{ id: "a" }]), part(submission, 1, [{ id: "b" }], 1)];
    await record(db, id, [[first]]);
    await succeed(db, id, await dispatch(db, id));
    const job = { id, model: MODEL, lane: "bulk", leaseUntil: NOW + MINUTE } as const;
    expect(await recordParts(db, job, transactionOf([[first, second]]), NOW)).toEqual([true, false]);
    expect(await readSubmission(db, submission)).toMatchObject({ recorded: 1, succeeded: 1 });
    expect(await rows("SELECT document_id FROM documents")).toEqual([{ document_id: "a" }]);
  });
});

describe("closing a push", () => {
  it("may be repeated after an error that hid it", async () => {
    const id = await open(db, { total: 1, closed: false });
    expect(await closeSubmission(db, id, NOW + 1)).toBe("closed");
    expect(await closeSubmission(db, id, NOW + 2)).toBe("closed");
    expect(await readSubmission(db, id)).toMatchObject({ closedAt: NOW + 1, incomplete: false });
  });

  it("reports that it was closed as abandoned, so that it is not accepted", async () => {
    const id = await open(db, { total: 1, closed: false });
    const times = { now: NOW + 2 * HOUR, settledBy: NOW + HOUR, abandonedBefore: NOW + HOUR, lostBefore: 0 };
    await sweepSubmissions(db, times);
    expect(await closeSubmission(db, id, NOW + 2 * HOUR)).toBe("given_up");
    expect(await readSubmission(db, id)).toMatchObject({ incomplete: true });
  });

  it("reports that to the request that took it over, too", async () => {
    const id = await open(db, { total: 1, closed: false });
    await takeOverPush(db, id, "one", NOW + MINUTE);
    const times = { now: NOW + 3 * HOUR, settledBy: NOW + HOUR, abandonedBefore: NOW + 2 * HOUR, lostBefore: 0 };
    await sweepSubmissions(db, times);
    expect(await closeSubmission(db, id, NOW + 3 * HOUR, "one")).toBe("given_up");
  });
});

describe("opening a push again that could not be sent", () => {
  const state = async () => (await rows("SELECT closed_at, completed_at FROM submissions"))[0];
  const watched = async () => (await rows("SELECT submission_id FROM watched_submissions")).length;

  it("lets the sweep find it, if its opener reopens it", async () => {
    const id = await open(db, { total: 1 });
    await reopenSubmission(db, id);
    expect([await state(), await watched()]).toEqual([{ closed_at: null, completed_at: null }, 1]);
  });

  it("does not change one that was taken over and may have been accepted", async () => {
    const id = await open(db, { total: 1 });
    await takeOverPush(db, id, "one", NOW + MINUTE);
    await reopenSubmission(db, id);
    expect([await state(), await watched()]).toEqual([{ closed_at: NOW, completed_at: null }, 0]);
  });

  it("does not change one that the caller took over, whose opener may be answered", async () => {
    const id = await open(db, { total: 1 });
    await takeOverPush(db, id, "one", NOW + MINUTE);
    await reopenSubmission(db, id, "one");
    expect([await state(), await watched()]).toEqual([{ closed_at: NOW, completed_at: null }, 0]);
  });

  it("keeps one closed that has ended because the Queue accepted it", async () => {
    const { submission, id } = await recorded(["a"]);
    await succeed(db, id, await dispatch(db, id));
    await reopenSubmission(db, submission);
    expect([await state(), await watched()]).toEqual([{ closed_at: NOW, completed_at: NOW }, 0]);
  });
});

describe("taking over a push that was closed as incomplete, ended and is in the totals", () => {
  it("removes it from the totals, and adds it once when it ends", async () => {
    const id = await open(db, { total: 1, closed: false, label: "l" });
    const first = jobId();
    await record(db, first, [[part(id, 0, [{ id: "a" }])]]);
    await succeed(db, first, await dispatch(db, first));
    const times = { now: NOW + 2 * HOUR, settledBy: NOW + HOUR, abandonedBefore: NOW + HOUR, lostBefore: 0 };
    await sweepSubmissions(db, times);
    while (await rollUpTotals(db, NOW + HOUR));
    const sums = () =>
      rows("SELECT kind, total, succeeded, tokens FROM totals WHERE kind IN ('lane', 'label') ORDER BY kind");
    const one = { total: 1, succeeded: 1, tokens: 1_000 };
    expect(await sums()).toEqual([
      { kind: "label", ...one },
      { kind: "lane", ...one },
    ]);

    expect(await takeOverPush(db, id, "one", NOW + 3 * HOUR)).toBe(true);
    const none = { total: 0, succeeded: 0, tokens: 0 };
    expect(await sums()).toEqual([
      { kind: "label", ...none },
      { kind: "lane", ...none },
    ]);
    // A repeat, as after an error that hid the commit, does not remove it twice.
    expect(await takeOverPush(db, id, "one", NOW + 3 * HOUR)).toBe(true);
    while (await rollUpTotals(db, NOW + HOUR));
    expect(await sums()).toEqual([
      { kind: "label", ...none },
      { kind: "lane", ...none },
    ]);

    await closeSubmission(db, id, NOW + 4 * HOUR, "one");
    while (await rollUpTotals(db, NOW + HOUR));
    expect(await sums()).toEqual([
      { kind: "label", ...one },
      { kind: "lane", ...one },
    ]);
  });
});
