import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import { EVERYTHING } from "../../src/job/pause-scopes.ts";
import { externalReference, type JobId } from "@sluice/core";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import { resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { dispatchJob } from "../../src/job/dispatch-job.ts";
import {
  BatchService,
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  onlyJob,
  recordJob,
  rows,
  RUN,
  scoresInView,
  shuffled,
  testIo,
  type TestIo,
} from "../../test-support/index.ts";
import { hold, nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

let service: BatchService;
let io: TestIo;
beforeEach(() => {
  service = new BatchService();
  service.order = shuffled;
  io = testIo(env.DB, service);
});

const LIST = documents("d", 5);

const outcomes = () => rows(env.DB, "SELECT * FROM outcomes ORDER BY document_id");

/** A consumer that dies in the call: it started the dispatch, and nothing is ever heard of it again. */
async function dieDispatching(id: JobId): Promise<void> {
  const job = {
    id,
    model: "@cf/baai/bge-m3",
    status: "pending",
    dispatchNumber: 0,
    round: 1,
    refusals: 0,
    batches: 0,
    halvings: 0,
  } as const;
  const call = hold(service, "onSubmit");
  const called = call.called();
  void dispatchJob(io, job, await readJobContent(io.db, job));
  await called;
  service.onSubmit = null;
}

describe("a job whose recorder died before its dispatch", () => {
  it("is dispatched once its lease has run out, with its texts from D1", async () => {
    const { submission } = await recordJob(io.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
    io.clock.now = NOW + DISPATCH_LEASE_MS - 1;
    await runPoller(io);
    expect(service.calls).toEqual([]);
    io.clock.now += 1;
    await runPoller(io);
    expect(service.submits.map(({ requests }) => requests)).toEqual([
      LIST.map(({ query, contexts }, place) => ({
        query,
        contexts: contexts.map((text) => ({ text })),
        truncate_inputs: true,
        external_reference: externalReference(submission, place),
      })),
    ]);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 1, unconfirmed: 0 });
  });
});

describe("a job whose dispatcher died in the call", () => {
  it("is dispatched again once the lease has run out, and counted as unconfirmed", async () => {
    const { submission, job } = await recordJob(io.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
    await dieDispatching(job);
    io.clock.now = NOW + DISPATCH_LEASE_MS - 1;
    await runPoller(io);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatching", dispatchNumber: 1, unconfirmed: 0 });
    io.clock.now += 1;
    await runPoller(io);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 2,
      unconfirmed: 1,
      repeated: 0,
    });
    expect(service.submits).toHaveLength(2);
    await runUntilDone(io);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
    expect(await rows(env.DB, "SELECT unconfirmed_dispatches AS n, jobs FROM submissions")).toEqual([
      { n: 1, jobs: 1 },
    ]);
    // Answers used up, not dispatches.
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("keeps nothing of the call's late answer once a pause has put the job back", async () => {
    const { job } = await recordJob(io.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
    const call = hold(service, "onSubmit");
    const called = call.called();
    const pending = {
      id: job,
      model: "@cf/baai/bge-m3",
      status: "pending",
      dispatchNumber: 0,
      round: 1,
      refusals: 0,
      batches: 0,
      halvings: 0,
    } as const;
    const late = dispatchJob(io, pending, await readJobContent(io.db, pending));
    await called;
    await env.DB.prepare("INSERT INTO pauses (scope, reason, since, until) VALUES ('all', 'requested', ?, NULL)")
      .bind(NOW)
      .run();
    await deleteDocument(io.db, { collection: "default", id: "d0" }, NOW);
    io.clock.now = NOW + DISPATCH_LEASE_MS;
    await runPoller(io);
    call.letGo();
    await late;
    // The batch was numbered with the deleted document in it: it must not be read by a list without.
    await resumeDispatching(io.db, EVERYTHING, io.clock.now);
    service.items = (item) => [{ ...item, external_reference: null }];
    await runUntilDone(io);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST.slice(1)));
  });
});

describe("two runs of the poller", () => {
  it("at once poll a job once", async () => {
    const { submission } = await recordJob(io.db, LIST, { now: NOW, dueAt: NOW });
    await Promise.all([runPoller(io), runPoller(io)]);
    expect(service.submits).toHaveLength(1);
    io.clock.now += RUN;
    await Promise.all([runPoller(io), runPoller(io)]);
    expect(service.polls).toHaveLength(1);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
  });

  it("whose polls are in flight together apply the answer once", async () => {
    const { submission } = await recordJob(io.db, LIST, { now: NOW, dueAt: NOW });
    service.items = (item, request) => (request.query === LIST[2]?.query ? [] : [item]);
    await runPoller(io);
    const polls = hold(service, "onPoll");
    const first = polls.called();
    const runs = [nextRun(io)];
    await first;
    const second = polls.called();
    runs.push(nextRun(io));
    await second;
    polls.letGo();
    await Promise.all(runs);
    expect(service.polls).toHaveLength(2);
    expect(await counters(env.DB, submission)).toEqual({
      total: 5,
      recorded: 5,
      succeeded: 4,
      failed: 0,
      canceled: 0,
      completed: false,
    });
    expect((await jobs(env.DB)).map(({ status, round }) => ({ status, round }))).toEqual([
      { status: "succeeded", round: 1 },
      { status: "pending", round: 2 },
    ]);
    expect(await rows(env.DB, "SELECT jobs, tokens FROM submissions")).toEqual([{ jobs: 1, tokens: 50 }]);
    const held = io.events.filter(({ event }) => event === "job_finalized").map((event) => event["held"]);
    expect(held).toHaveLength(2);
    expect(new Set(held)).toEqual(new Set([true, false]));
  });

  it("and one that finds an ended job change nothing", async () => {
    await recordJob(io.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(io);
    const polls = hold(service, "onPoll");
    const called = polls.called();
    const slow = nextRun(io);
    await called;
    service.onPoll = null;
    await nextRun(io);
    const before = { jobs: await rows(env.DB, "SELECT * FROM jobs"), outcomes: await outcomes() };
    expect(before.outcomes).toHaveLength(5);
    io.clock.now += RUN;
    polls.letGo();
    await slow;
    expect({ jobs: await rows(env.DB, "SELECT * FROM jobs"), outcomes: await outcomes() }).toEqual(before);
  });
});
