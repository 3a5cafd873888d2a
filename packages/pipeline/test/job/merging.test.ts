import { env } from "cloudflare:test";
import { expect } from "vitest";
import { MAX_JOB_DOCUMENTS } from "@sluice/core";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  recordJob,
  RUN,
  rows,
  scoresInView,
  testContext,
  unreliableDatabase,
} from "../../test-support/index.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const record = (name: string, count = 1, more: { readonly lane?: "interactive" | "bulk" } = {}) =>
  recordJob(context.db, documents(name, count), { now: NOW, dueAt: NOW, ...more });
const sizes = () => service.submits.map(({ requests }) => requests.length);

it("small due jobs are dispatched as one, and each submission gets its own scores", async () => {
  const list = Array.from({ length: 8 }, (_, index) => `s${index}-`);
  const submissions = [];
  for (const name of list) submissions.push((await record(name)).submission);
  await runPoller(context);
  expect(sizes()).toEqual([8]);
  await nextRun(context);
  expect(await scoresInView(env.DB)).toEqual(expectedScores(list.flatMap((name) => documents(name, 1))));
  for (const submission of submissions)
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 1, completed: true });
  expect(await rows(env.DB, "SELECT DISTINCT jobs FROM submissions")).toEqual([{ jobs: 1 }]);
  expect(await rows(env.DB, "SELECT status, count(*) AS count FROM jobs GROUP BY status ORDER BY status")).toEqual([
    { status: "merged", count: 7 },
    { status: "succeeded", count: 1 },
  ]);
});

it("jobs of two lanes, and jobs that were dispatched before, are not merged", async () => {
  await record("a");
  await record("b", 1, { lane: "interactive" });
  await record("c");
  await env.DB.exec("UPDATE jobs SET dispatch_number = 1, batches = 1 WHERE members LIKE '%c0%'");
  await runPoller(context);
  expect(sizes()).toEqual([1, 1, 1]);
});

it("a follow-up is merged with others that wait for the same answer", async () => {
  await record("a", 2);
  await record("b", 2, { lane: "bulk" });
  await env.DB.exec(`UPDATE jobs SET due_at = ${NOW + RUN} WHERE members LIKE '%b0%'`);
  service.items = (item) => (item.index === 0 ? [] : [item]);
  await runPoller(context);
  await nextRun(context);
  await nextRun(context);
  service.items = (item) => [item];
  await runUntilDone(context);
  expect(await rows(env.DB, "SELECT count(*) AS n FROM outcomes WHERE status = 'succeeded'")).toEqual([{ n: 4 }]);
});

it("jobs are merged up to the limits of one job", async () => {
  for (const name of ["a", "b", "c"]) await record(name, 1);
  await env.DB.exec(`UPDATE jobs SET document_count = ${MAX_JOB_DOCUMENTS / 2}`);
  await runPoller(context);
  expect(sizes().toSorted()).toEqual([1, 2]);
});

it("a bad document in a merged job is isolated, and its neighbors succeed", async () => {
  for (const name of ["a", "b", "c", "d"]) await record(name, 2);
  const bad = documents("c", 2)[1]?.query;
  service.onSubmit = ({ requests }) =>
    requests.some(({ query }) => query === bad) ? Promise.reject(new Error("5006: invalid")) : undefined;
  await runUntilDone(context);
  expect(await rows(env.DB, "SELECT document_id AS id, code FROM failures")).toEqual([
    { id: "c1", code: "invalid_input" },
  ]);
  expect(Object.keys(await scoresInView(env.DB))).toHaveLength(7);
});

it("jobs are dispatched even if D1 refuses to merge them", async () => {
  for (const name of ["a", "b"]) await record(name);
  const { d1 } = unreliableDatabase(
    env.DB,
    (_, sql) => (sql.includes("merged_into =") ? "before" : null),
    "D1_ERROR: SQLITE_ERROR",
  );
  const refusing = testContext(d1, service);
  await runPoller(refusing);
  expect(sizes()).toEqual([1, 1]);
  expect(refusing.events).toContainEqual(expect.objectContaining({ event: "merging_broke_off" }));
});

it("no document is sent twice or lost if the answer of a merge is lost", async () => {
  for (const name of ["a", "b", "c"]) await record(name);
  const { d1 } = unreliableDatabase(
    env.DB,
    (_, sql) => (sql.includes("merged_into =") ? "after" : null),
    "D1_ERROR: SQLITE_ERROR",
  );
  await runPoller(testContext(d1, service));
  expect(sizes()).toEqual([3]);
  expect((await jobs(env.DB)).map(({ status }) => status).toSorted()).toEqual(["dispatched", "merged", "merged"]);
});
