import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import {
  counters,
  document,
  documents,
  expectedScores,
  jobs,
  NOW,
  onlyJob,
  recordJob,
  rows,
  scoresInView,
  serviceError,
  shuffled,
} from "../../test-support/index.ts";
import { hold, nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

beforeEach(() => {
  service.order = shuffled;
});

const LIST = documents("d", 5);
const HOUR = 60 * 60_000;

const outcomes = () => rows(env.DB, "SELECT * FROM outcomes ORDER BY document_id");

describe("a batch without an answer", () => {
  it("is stuck after an hour, dispatched again in the same run, and counted", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? { status: "running", request_id: requestId } : undefined;
    context.clock.now = NOW + HOUR - 1;
    await runPoller(context);
    expect(service.submits).toHaveLength(1);
    context.clock.now = (await onlyJob(env.DB)).dueAt ?? 0;
    const again = context.clock.now;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 2,
      requestId: "batch-2",
      repeated: 1,
      unconfirmed: 0,
      dispatches: [
        { number: 1, started_at: NOW, request_id: "batch-1", ended_at: again, error: { reason: "stuck" } },
        { number: 2, started_at: again, request_id: "batch-2" },
      ],
    });
    await nextRun(context);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("is not stuck if a call fails after an hour, because the batch may have finished", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    context.clock.now = NOW + 1.5 * HOUR;
    service.onPoll = () => Promise.reject(serviceError("<html><title>502 Bad gateway</title></html>"));
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 1, requestId: "batch-1" });
    service.onPoll = null;
    context.clock.now = (await onlyJob(env.DB)).dueAt ?? 0;
    await runPoller(context);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
    expect(service.submits).toHaveLength(1);
  });

  it("is stuck after two hours if every call fails", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? Promise.reject(serviceError("<html><title>502 Bad gateway</title></html>")) : undefined;
    context.clock.now = NOW + 2 * HOUR;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ dispatchNumber: 2, requestId: "batch-2", repeated: 1 });
  });

  it("is ignored if it finishes after its dispatch was given up", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    const polls = hold(service, "onPoll");
    const called = polls.called();
    const late = nextRun(context);
    await called;
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? { status: "running", request_id: requestId } : undefined;
    context.clock.now = NOW + HOUR;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 2, requestId: "batch-2" });
    const before = await jobs(env.DB);
    polls.release();
    await late;
    expect(await jobs(env.DB)).toEqual(before);
    expect(await outcomes()).toEqual([]);
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
  });

  it.each([
    { how: "not found", poll: () => Promise.reject(new Error("3042: not found")) },
    { how: "unknown by its message", poll: () => ({ success: false, errors: [{ message: "request_id expired" }] }) },
    { how: "expired by its status", poll: () => ({ status: "expired" }) },
  ])("that the service has forgotten is redispatched immediately, and counted: $how", async ({ poll }) => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    service.onPoll = ({ requestId }) => (requestId === "batch-1" ? poll() : undefined);
    await nextRun(context);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 2,
      requestId: "batch-2",
      repeated: 1,
      unconfirmed: 0,
    });
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
  });

  it("that the service forgets every time is given up after ten batches", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    service.onPoll = () => Promise.reject(new Error("3042: not found"));
    await runUntilDone(context);
    expect(service.submits).toHaveLength(10);
    expect(await rows(env.DB, "SELECT DISTINCT code, attempts FROM outcomes")).toEqual([
      { code: "no_answer", attempts: 1 },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 5, completed: true });
  });
});

describe("a document that is deleted in flight", () => {
  it("is dropped, and the others keep their numbers", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    await deleteDocument(context.db, { collection: "default", id: "d1" }, NOW);
    service.items = (item) => [{ ...item, external_reference: null }];
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST.filter(({ id }) => id !== "d1")));
    expect(await counters(env.DB, submission)).toEqual({
      total: 5,
      recorded: 5,
      succeeded: 4,
      failed: 0,
      canceled: 1,
      completed: true,
    });
    expect((await outcomes()).map((row) => row["document_id"])).toEqual(["d0", "d2", "d3", "d4"]);
  });

  it("is not sent again if its item failed", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    await deleteDocument(context.db, { collection: "default", id: "d1" }, NOW);
    service.items = (item, request) =>
      [document("d1").query, document("d3").query].includes(request.query) ? [] : [item];
    await nextRun(context);
    service.items = (item) => [item];
    await runUntilDone(context);
    expect(service.submits.map(({ requests }) => requests.length)).toEqual([5, 1]);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 4, canceled: 1, completed: true });
  });

  it("fails no other document if the batch is invalid", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    await deleteDocument(context.db, { collection: "default", id: "d1" }, NOW);
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? Promise.reject(new Error("5006: invalid input")) : undefined;
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST.filter(({ id }) => id !== "d1")));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 4, failed: 0, canceled: 1, completed: true });
  });

  it("does not fail the only other document if the batch is invalid", async () => {
    const pair = LIST.slice(0, 2);
    const { submission } = await recordJob(context.db, pair, { now: NOW, dueAt: NOW });
    await runPoller(context);
    await deleteDocument(context.db, { collection: "default", id: "d0" }, NOW);
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? Promise.reject(new Error("5006: invalid input")) : undefined;
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(pair.slice(1)));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 1, failed: 0, canceled: 1, completed: true });
  });
});
