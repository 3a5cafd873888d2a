import { env } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { EVERYTHING, submissionScope } from "../../src/job/pause-scopes.ts";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { openDatabase } from "@sluice/db";
import { pauseDispatching, readPauses, resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import {
  BatchService,
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
  testIo,
  type TestIo,
} from "../../test-support/index.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { jobId, MODEL } from "../../test-support/fixtures.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";

const A = documents("a", 3);
const B = documents("b", 2);
const names = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);

let service: BatchService;
let io: TestIo;
beforeEach(() => {
  service = new BatchService();
  io = testIo(env.DB, service);
});

/** Two submissions whose documents are in one pending job. */
async function shared(): Promise<{ a: SubmissionId; b: SubmissionId; job: JobId }> {
  const [a, b] = [await open(io.db, { total: A.length }), await open(io.db, { total: B.length })];
  const job = { id: jobId(), model: MODEL, lane: "bulk", leaseUntil: NOW } as const;
  await recordParts(io.db, job, [[[part(a, 0, A), part(b, 0, B)]]], NOW);
  return { a, b, job: job.id };
}

const pause = (scope: string) =>
  pauseDispatching(io.db, { scope, reason: "requested", message: null, since: io.now(), until: null });

it("what a paused submission has in a job with another goes apart, and the other goes on", async () => {
  const { a, b, job } = await shared();
  await pause(submissionScope(a));
  await nextRun(io);
  expect(await jobs(env.DB)).toMatchObject([
    { id: job, status: "dispatched", documents: names(B) },
    { status: "pending", parent: job, documents: names(A), dispatchNumber: 0 },
  ]);
  await nextRun(io);
  expect(await counters(env.DB, b)).toMatchObject({ succeeded: 2, completed: true });
  expect(await counters(env.DB, a)).toMatchObject({ recorded: 3, succeeded: 0, completed: false });
  expect(service.submits.map((call) => call.requests.length)).toEqual([2]);
});

it("a resumed submission is dispatched at once, and every score is its own text's", async () => {
  const { a } = await shared();
  await pause(submissionScope(a));
  for (let runs = 0; runs < 3; runs += 1) await nextRun(io);
  await resumeDispatching(io.db, submissionScope(a), io.now());
  await runUntilDone(io, 3);
  expect(await scoresInView(env.DB)).toEqual(expectedScores([...A, ...B]));
  expect(await counters(env.DB, a)).toMatchObject({ succeeded: 3, completed: true });
});

it("a job of paused submissions alone waits whole, however often it is looked at", async () => {
  const { a, b, job } = await shared();
  await pause(submissionScope(a));
  await pause(submissionScope(b));
  for (let runs = 0; runs < 40; runs += 1) await nextRun(io);
  expect(await jobs(env.DB)).toMatchObject([
    { id: job, status: "pending", dispatchNumber: 0, documents: names([...A, ...B]) },
  ]);
  expect(service.submits).toEqual([]);
});

it("a paused backlog is held by one statement, and a job behind it is dispatched in the same run", async () => {
  const { submission, job: paused } = await recordJob(io.db, A, { now: NOW, dueAt: NOW });
  // 500 jobs like it: only their lists and times matter here.
  await env.DB.prepare(
    `INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes, due_at, created_at, members)
     SELECT substr(jobs.id, 1, 36) || printf('%04x', value), model, lane, status, round, document_count, context_count,
       payload_bytes, due_at, created_at, members
     FROM jobs, json_each(?)`,
  )
    .bind(JSON.stringify(Array.from({ length: 500 }, (_, index) => index + 1)))
    .run();
  const { job } = await recordJob(io.db, B, { now: NOW + 1, dueAt: NOW + 1 });
  await pause(submissionScope(submission));
  const { d1, counts } = countedDatabase(env.DB);
  io.clock.now += RUN;
  await runPoller({ ...io, db: openDatabase(d1) });
  expect(service.submits.map((call) => call.requests.length)).toEqual([B.length]);
  expect(counts.length).toBeLessThanOrEqual(30);
  const states = new Map((await jobs(env.DB)).map((one) => [one.id, one]));
  expect(states.get(job)).toMatchObject({ status: "dispatched" });
  expect(states.get(paused)).toMatchObject({ status: "pending", dueAt: NEVER_DUE });
  expect([...states.values()].filter(({ dueAt }) => dueAt === NEVER_DUE)).toHaveLength(501);
});

it("a submission that is paused and canceled ends all the same", async () => {
  const { a } = await shared();
  await pause(submissionScope(a));
  await nextRun(io);
  await cancelSubmission(io.db, a, io.now());
  await runUntilDone(io, 3);
  expect(await counters(env.DB, a)).toMatchObject({ canceled: 3, completed: true });
});

it("a dispatch that broke off is over before its job is taken apart", async () => {
  const { a, job } = await shared();
  await startDispatch(
    io.db,
    { id: job, dispatchNumber: 0, status: "pending" },
    { until: NOW + RUN, token: "died" },
    NOW,
  );
  await pause(submissionScope(a));
  await nextRun(io);
  const found = await jobs(env.DB);
  expect(found).toMatchObject([
    { id: job, status: "dispatched", unconfirmed: 1, documents: names(B) },
    { status: "pending", documents: names(A) },
  ]);
  await resumeDispatching(io.db, submissionScope(a), io.now());
  await runUntilDone(io);
  expect(await scoresInView(env.DB)).toEqual(expectedScores([...A, ...B]));
});

it("a pause of everything leaves jobs whole", async () => {
  const { a } = await shared();
  await pause(EVERYTHING);
  await pause(submissionScope(a));
  await nextRun(io);
  expect(await jobs(env.DB)).toHaveLength(1);
});

it("the pause of a submission goes with its end", async () => {
  const { submission } = await recordJob(io.db, A, { now: NOW, dueAt: NOW });
  await nextRun(io);
  await pause(submissionScope(submission));
  await runUntilDone(io);
  for (let runs = 0; runs < 6; runs += 1) await nextRun(io);
  expect(await readPauses(io.db, io.now())).toEqual([]);
});

it("a run notes that it ran, with the claim that it starts with", async () => {
  await nextRun(io);
  const beat = async () => (await env.DB.prepare("SELECT at FROM heartbeats").all<{ at: number }>()).results;
  expect(await beat()).toEqual([{ at: NOW + RUN }]);
  io.clock.now += 10_000 - RUN;
  await nextRun(io);
  // A run that follows soon leaves it as it is.
  expect(await beat()).toEqual([{ at: NOW + RUN }]);
  await nextRun(io);
  expect(await beat()).toEqual([{ at: io.clock.now }]);
});
