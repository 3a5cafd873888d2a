import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import { EVERYTHING } from "../../src/job/pause-scopes.ts";
import { externalReference, type JobId } from "@sluice/core";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import { resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { dispatchJob } from "../../src/job/dispatch-job.ts";
import {
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
} from "../../test-support/index.ts";
import { hold, nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

beforeEach(() => {
  service.order = shuffled;
});

const LIST = documents("d", 5);

const outcomes = () => rows(env.DB, "SELECT * FROM outcomes ORDER BY document_id");

/** A consumer that dies in the call, after it started the dispatch. */
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
  void dispatchJob(context, job, await readJobContent(context.db, job));
  await called;
  service.onSubmit = null;
}

describe("a job whose recorder died before its dispatch", () => {
  it("is dispatched once its lease has expired, with its texts from D1", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
    context.clock.now = NOW + DISPATCH_LEASE_MS - 1;
    await runPoller(context);
    expect(service.calls).toEqual([]);
    context.clock.now += 1;
    await runPoller(context);
    expect(service.submits.map(({ requests }) => requests)).toEqual([
      LIST.map(({ query, contexts }, index) => ({
        query,
        contexts: contexts.map((text) => ({ text })),
        truncate_inputs: true,
        external_reference: externalReference(submission, index),
      })),
    ]);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 1, unconfirmed: 0 });
  });
});

describe("a job whose dispatcher died in the call", () => {
  it("is dispatched again once the lease has expired, and counted as unconfirmed", async () => {
    const { submission, job } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
    await dieDispatching(job);
    context.clock.now = NOW + DISPATCH_LEASE_MS - 1;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatching", dispatchNumber: 1, unconfirmed: 0 });
    context.clock.now += 1;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 2,
      unconfirmed: 1,
      repeated: 0,
    });
    expect(service.submits).toHaveLength(2);
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
    expect(await rows(env.DB, "SELECT unconfirmed_dispatches AS n, jobs FROM submissions")).toEqual([
      { n: 1, jobs: 1 },
    ]);
    // Counts rounds, not dispatches.
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("ignores the call's late answer once a pause has put the job back", async () => {
    const { job } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
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
    const late = dispatchJob(context, pending, await readJobContent(context.db, pending));
    await called;
    await env.DB.prepare("INSERT INTO pauses (scope, reason, since, until) VALUES ('all', 'requested', ?, NULL)")
      .bind(NOW)
      .run();
    await deleteDocument(context.db, { collection: "default", id: "d0" }, NOW);
    context.clock.now = NOW + DISPATCH_LEASE_MS;
    await runPoller(context);
    call.release();
    await late;
    // The batch was numbered with the deleted document, so a list without it must not be used.
    await resumeDispatching(context.db, EVERYTHING, context.clock.now);
    service.items = (item) => [{ ...item, external_reference: null }];
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST.slice(1)));
  });
});

describe("two runs of the poller", () => {
  it("at the same time poll a job once", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await Promise.all([runPoller(context), runPoller(context)]);
    expect(service.submits).toHaveLength(1);
    context.clock.now += RUN;
    await Promise.all([runPoller(context), runPoller(context)]);
    expect(service.polls).toHaveLength(1);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 5, completed: true });
  });

  it("with polls in flight together apply the answer once", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    service.items = (item, request) => (request.query === LIST[2]?.query ? [] : [item]);
    await runPoller(context);
    const polls = hold(service, "onPoll");
    const first = polls.called();
    const runs = [nextRun(context)];
    await first;
    const second = polls.called();
    runs.push(nextRun(context));
    await second;
    polls.release();
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
    const held = context.events.filter(({ event }) => event === "job_finalized").map((event) => event["held"]);
    expect(held).toHaveLength(2);
    expect(new Set(held)).toEqual(new Set([true, false]));
  });

  it("change nothing when one finds an ended job", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await runPoller(context);
    const polls = hold(service, "onPoll");
    const called = polls.called();
    const slow = nextRun(context);
    await called;
    service.onPoll = null;
    await nextRun(context);
    const before = { jobs: await rows(env.DB, "SELECT * FROM jobs"), outcomes: await outcomes() };
    expect(before.outcomes).toHaveLength(5);
    context.clock.now += RUN;
    polls.release();
    await slow;
    expect({ jobs: await rows(env.DB, "SELECT * FROM jobs"), outcomes: await outcomes() }).toEqual(before);
  });
});
