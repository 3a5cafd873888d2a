import { env } from "cloudflare:test";
import { expect } from "vitest";
import { EVERYTHING, submissionScope } from "../../src/job/pause-scopes.ts";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { openDatabase } from "@sluice/db";
import { pauseDispatching, readPauses, resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  open,
  part,
  recordJob,
  RUN,
  scoresInView,
} from "../../test-support/index.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { jobId, MODEL, transactionOf } from "../../test-support/fixtures.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const A = documents("a", 3);
const B = documents("b", 2);
const names = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);

/** Records two submissions with their documents in one pending job. */
async function shared(): Promise<{ a: SubmissionId; b: SubmissionId; job: JobId }> {
  const [a, b] = [await open(context.db, { total: A.length }), await open(context.db, { total: B.length })];
  const job = { id: jobId(), model: MODEL, lane: "bulk", leaseUntil: NOW } as const;
  await recordParts(context.db, job, transactionOf([[part(a, 0, A), part(b, 0, B)]]), NOW);
  return { a, b, job: job.id };
}

const pause = (scope: string) =>
  pauseDispatching(context.db, { scope, reason: "requested", message: null, since: context.now(), until: null });

it("separates the documents of a paused submission from a job, and dispatches the rest", async () => {
  const { a, b, job } = await shared();
  await pause(submissionScope(a));
  await nextRun(context);
  expect(await jobs(env.DB)).toMatchObject([
    { id: job, status: "dispatched", documents: names(B) },
    { status: "pending", parent: job, documents: names(A), dispatchNumber: 0 },
  ]);
  await nextRun(context);
  expect(await counters(env.DB, b)).toMatchObject({ succeeded: 2, completed: true });
  expect(await counters(env.DB, a)).toMatchObject({ recorded: 3, succeeded: 0, completed: false });
  expect(service.submits.map((call) => call.requests.length)).toEqual([2]);
});

it("a resumed submission is dispatched immediately, with correct scores", async () => {
  const { a } = await shared();
  await pause(submissionScope(a));
  for (let runs = 0; runs < 3; runs += 1) await nextRun(context);
  await resumeDispatching(context.db, submissionScope(a), context.now());
  await runUntilDone(context, 3);
  expect(await scoresInView(env.DB)).toEqual(expectedScores([...A, ...B]));
  expect(await counters(env.DB, a)).toMatchObject({ succeeded: 3, completed: true });
});

it("a job of only paused submissions stays whole over any number of runs", async () => {
  const { a, b, job } = await shared();
  await pause(submissionScope(a));
  await pause(submissionScope(b));
  for (let runs = 0; runs < 40; runs += 1) await nextRun(context);
  expect(await jobs(env.DB)).toMatchObject([
    { id: job, status: "pending", dispatchNumber: 0, documents: names([...A, ...B]) },
  ]);
  expect(service.submits).toEqual([]);
});

it("a paused backlog is held by one statement, and a later job is dispatched in the same run", async () => {
  const { submission, job: paused } = await recordJob(context.db, A, { now: NOW, dueAt: NOW });
  // 500 similar jobs. Only their lists and times matter here.
  await env.DB.prepare(
    `INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes, due_at, created_at, members)
     SELECT substr(jobs.id, 1, 36) || printf('%04x', value), model, lane, status, round, document_count, context_count,
       payload_bytes, due_at, created_at, members
     FROM jobs, json_each(?)`,
  )
    .bind(JSON.stringify(Array.from({ length: 500 }, (_, index) => index + 1)))
    .run();
  const { job } = await recordJob(context.db, B, { now: NOW + 1, dueAt: NOW + 1 });
  await pause(submissionScope(submission));
  const { d1, counts } = countedDatabase(env.DB);
  context.clock.now += RUN;
  await runPoller({ ...context, db: openDatabase(d1) });
  expect(service.submits.map((call) => call.requests.length)).toEqual([B.length]);
  expect(counts.length).toBeLessThanOrEqual(30);
  const states = new Map((await jobs(env.DB)).map((one) => [one.id, one]));
  expect(states.get(job)).toMatchObject({ status: "dispatched" });
  expect(states.get(paused)).toMatchObject({ status: "pending", dueAt: NEVER_DUE });
  expect([...states.values()].filter(({ dueAt }) => dueAt === NEVER_DUE)).toHaveLength(501);
});

it("a paused submission that is canceled ends", async () => {
  const { a } = await shared();
  await pause(submissionScope(a));
  await nextRun(context);
  await cancelSubmission(context.db, a, context.now());
  await runUntilDone(context, 3);
  expect(await counters(env.DB, a)).toMatchObject({ canceled: 3, completed: true });
});

it("an interrupted dispatch is given up before its job is separated", async () => {
  const { a, job } = await shared();
  await startDispatch(
    context.db,
    { id: job, dispatchNumber: 0, status: "pending" },
    { until: NOW + RUN, token: "died" },
    NOW,
  );
  await pause(submissionScope(a));
  await nextRun(context);
  const found = await jobs(env.DB);
  expect(found).toMatchObject([
    { id: job, status: "dispatched", unconfirmed: 1, documents: names(B) },
    { status: "pending", documents: names(A) },
  ]);
  await resumeDispatching(context.db, submissionScope(a), context.now());
  await runUntilDone(context);
  expect(await scoresInView(env.DB)).toEqual(expectedScores([...A, ...B]));
});

it("a pause of everything leaves jobs whole", async () => {
  const { a } = await shared();
  await pause(EVERYTHING);
  await pause(submissionScope(a));
  await nextRun(context);
  expect(await jobs(env.DB)).toHaveLength(1);
});

it("the pause of a submission is removed when it ends", async () => {
  const { submission } = await recordJob(context.db, A, { now: NOW, dueAt: NOW });
  await nextRun(context);
  await pause(submissionScope(submission));
  await runUntilDone(context);
  for (let runs = 0; runs < 6; runs += 1) await nextRun(context);
  expect(await readPauses(context.db, context.now())).toEqual([]);
});

it("a run records its heartbeat with its first claim", async () => {
  await nextRun(context);
  const beat = async () => (await env.DB.prepare("SELECT at FROM heartbeats").all<{ at: number }>()).results;
  expect(await beat()).toEqual([{ at: NOW + RUN }]);
  context.clock.now += 10_000 - RUN;
  await nextRun(context);
  // A run soon after does not change it.
  expect(await beat()).toEqual([{ at: NOW + RUN }]);
  await nextRun(context);
  expect(await beat()).toEqual([{ at: context.clock.now }]);
});
