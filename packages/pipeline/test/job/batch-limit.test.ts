import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { DEFAULT_MODEL, MAX_BATCHES } from "@sluice/core";
import { submissionScope } from "../../src/job/pause-scopes.ts";
import { pauseDispatching, resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { limitBatches } from "../../src/job/limit-batches.ts";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  onlyJob,
  recordJob,
  rows,
  scoresInView,
  serviceError,
  testContext,
  unreliableDatabase,
} from "../../test-support/index.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const timedOut = () => Promise.reject(new Error("Workers AI did not answer within 60 s."));
const failures = () => rows(env.DB, "SELECT document_id AS id, code, message FROM failures ORDER BY id");
const batches = async () =>
  (await rows(env.DB, "SELECT batches FROM jobs ORDER BY created_at, id")).map((row) => row["batches"]);

/** Runs the poller repeatedly, whenever the next job is due, until none is open. */
async function runAsDue(maxRuns = 200): Promise<void> {
  for (let runs = 0; runs < maxRuns; runs += 1) {
    const due = (await jobs(env.DB)).flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt]));
    if (due.length === 0) return;
    context.clock.now = Math.max(context.clock.now + 1_000, Math.min(...due));
    await runPoller(context);
  }
  throw new Error(`jobs are open after ${maxRuns} runs`);
}

describe("a job whose submits time out each time", () => {
  it("is in at most ten batches, and its documents fail with the reason", async () => {
    const { submission } = await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
    service.onSubmit = timedOut;
    await runAsDue();
    expect(service.submits).toHaveLength(10);
    expect(await failures()).toEqual([
      {
        id: "d0",
        code: "no_answer",
        message:
          "Workers AI may have accepted the document in 10 batches, the limit, and returned no result; " +
          "last error: Workers AI did not answer within 60 s.",
      },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 1, completed: true });
    expect(await rows(env.DB, "SELECT batches, unconfirmed_dispatches AS unconfirmed FROM jobs")).toEqual([
      { batches: 10, unconfirmed: 10 },
    ]);
    expect(await rows(env.DB, "SELECT unconfirmed_dispatches AS n FROM submissions")).toEqual([{ n: 10 }]);
  });

  it("survives an outage of 26 hours", async () => {
    await recordJob(context.db, documents("d", 20), { now: NOW, dueAt: NOW });
    Object.assign(context, { random: () => 0 });
    service.onSubmit = timedOut;
    for (context.clock.now = NOW; context.clock.now < NOW + 26 * HOUR; context.clock.now += 5 * MINUTE)
      await runPoller(context);
    expect(await failures()).toEqual([]);
    service.onSubmit = null;
    await runAsDue();
    expect(await scoresInView(env.DB)).toEqual(expectedScores(documents("d", 20)));
  });
});

it("confirmed and unconfirmed batches count toward one limit", async () => {
  await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
  service.onSubmit = () => (service.submits.length % 2 === 0 ? timedOut() : undefined);
  service.onPoll = () => ({ status: "failed" });
  await runAsDue();
  expect(service.submits).toHaveLength(10);
  expect(await rows(env.DB, "SELECT batches FROM jobs")).toEqual([{ batches: 10 }]);
});

it("a batch that the service refused is not counted", async () => {
  await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  for (let run = 0; run < 15; run += 1) {
    context.clock.now += 31 * MINUTE;
    await runPoller(context);
  }
  expect(service.submits).toHaveLength(15);
  expect(await batches()).toEqual([0]);
  service.onSubmit = null;
  await runAsDue();
  expect(await batches()).toEqual([1]);
  expect(await rows(env.DB, "SELECT status FROM outcomes")).toEqual([{ status: "succeeded" }]);
});

it("a job whose Worker dies in each submit is in at most ten batches", async () => {
  await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
  const dies = unreliableDatabase(
    env.DB,
    (_, sql) => (sql.includes("'$[#-1].request_id'") ? "before" : null),
    "D1_ERROR: SQLITE_ERROR",
  );
  const dying = testContext(dies.d1, service);
  for (let run = 0; run < 12; run += 1) {
    dying.clock.now = NOW + run * 5 * MINUTE;
    await runPoller(dying);
  }
  expect(service.submits).toHaveLength(10);
  expect(await failures()).toMatchObject([
    { id: "d0", code: "no_answer" },
    { id: "d1", code: "no_answer" },
  ]);
  expect((await failures())[0]?.["message"]).toContain("10 batches");
  expect(await onlyJob(env.DB)).toMatchObject({ status: "failed", dispatchNumber: 10, unconfirmed: 10 });
});

it("canceled documents in a job without a batch left end as canceled", async () => {
  const { submission } = await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
  await env.DB.exec(`UPDATE jobs SET batches = ${MAX_BATCHES}`);
  await env.DB.exec(`UPDATE submissions SET cancel_requested_at = ${NOW}`);
  await runPoller(context);
  expect(await counters(env.DB, submission)).toMatchObject({ failed: 0, canceled: 2, completed: true });
  expect(await onlyJob(env.DB)).toMatchObject({ status: "canceled" });
});

it("a follow-up inherits how many batches its documents were in", async () => {
  await recordJob(context.db, documents("d", 3), { now: NOW, dueAt: NOW });
  await env.DB.exec(`UPDATE jobs SET batches = ${MAX_BATCHES - 1}`);
  service.items = (item) => (item.index === 1 ? [] : [item]);
  await runUntilDone(context);
  expect(service.submits.map(({ requests }) => requests.length)).toEqual([3]);
  expect(await failures()).toMatchObject([{ id: "d1", code: "no_answer" }]);
});

describe("a batch that is accepted and then invalid", () => {
  const list = documents("d", 100, 1);
  /** Accepts batches with one of these documents, which then fail as invalid. Forgets those of `forgotten`. */
  const poison = (ids: readonly string[], forgotten: readonly string[] = []): void => {
    const bad = new Set(list.filter(({ id }) => ids.includes(id)).map(({ query }) => query));
    const invalid = new Set<string>();
    let accepted = 0;
    service.onSubmit = ({ requests }) => {
      accepted += 1;
      const requestId = `b${accepted}`;
      if (requests.some(({ query }) => bad.has(query))) invalid.add(requestId);
      answers.set(requestId, service.answer(requests));
      return { status: "queued", request_id: requestId };
    };
    service.onPoll = ({ requestId }) => {
      if (forgotten.includes(requestId)) return { status: "expired" };
      if (!invalid.has(requestId)) return answers.get(requestId);
      return { success: false, status: "failed", errors: [{ message: "5006: invalid" }] };
    };
  };
  const answers = new Map<string, object>();
  beforeEach(() => answers.clear());

  it.each([0, 5, 8])("after %d others, fails its bad documents and no neighbor", async (before) => {
    await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET batches = ${before}`);
    poison(["d3", "d77"]);
    await runAsDue();
    expect(await failures()).toMatchObject([
      { id: "d3", code: "invalid_input" },
      { id: "d77", code: "invalid_input" },
    ]);
    expect(Object.keys(await scoresInView(env.DB))).toHaveLength(98);
    expect(await rows(env.DB, `SELECT id FROM jobs WHERE batches > ${MAX_BATCHES}`)).toEqual([]);
  });

  it("is split into single documents before its last batch if its pieces were given up", async () => {
    await recordJob(context.db, list.slice(0, 4), { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET batches = ${MAX_BATCHES - 4}`);
    // Two pieces of two documents, with three batches left each. These use up two.
    poison(["d0"], ["b2", "b3", "b4", "b5"]);
    await runAsDue();
    expect(service.submits.map(({ requests }) => requests.length)).toEqual([4, 2, 2, 2, 2, 1, 1, 1, 1]);
    expect(await failures()).toMatchObject([{ id: "d0", code: "invalid_input" }]);
    expect(Object.keys(await scoresInView(env.DB))).toEqual(["d1", "d2", "d3"]);
  });

  it("is not split if a piece has one document left, which gets the last batch", async () => {
    await recordJob(context.db, list.slice(0, 4), { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET batches = ${MAX_BATCHES - 4}`);
    poison(["d0"], ["b2", "b3", "b4", "b5"]);
    while (service.submits.length < 5) {
      context.clock.now += MINUTE;
      await runPoller(context);
    }
    await env.DB.exec("DELETE FROM documents WHERE document_id IN ('d1', 'd2')");
    await runAsDue();
    const jobsThatSplit = await rows(env.DB, "SELECT count(*) AS count FROM jobs WHERE status = 'split'");
    expect(jobsThatSplit).toEqual([{ count: 1 }]);
    expect(service.submits.slice(5).map(({ requests }) => requests.length)).toEqual([1, 1]);
    expect(Object.keys(await scoresInView(env.DB))).toEqual(["d3"]);
  });
});

it("an outage fails no document while another submission is resumed every minute", async () => {
  await recordJob(context.db, documents("d", 20), { now: NOW, dueAt: NOW });
  const other = await recordJob(context.db, documents("o", 1), { now: NOW, dueAt: NOW });
  const scope = submissionScope(other.submission);
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  const before = () => service.submits.filter(({ requests }) => requests.length === 20).length;
  for (let minute = 0; minute < 150; minute += 1) {
    await pauseDispatching(context.db, {
      scope,
      reason: "requested",
      message: null,
      since: context.now(),
      until: null,
    });
    await resumeDispatching(context.db, scope, context.now());
    await nextRun(context);
  }
  // The backoff decides, not the person: seven doublings up to 15 minutes, then a constant wait.
  expect(before()).toBeLessThan(15);
  expect(await failures()).toEqual([]);
});

it("leaves a job alone if another Worker has settled its dispatch and uncounted its batch", async () => {
  const { job } = await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
  await env.DB.prepare("UPDATE jobs SET dispatch_number = 10, batches = ?")
    .bind(MAX_BATCHES - 1)
    .run();
  const claimed = {
    id: job,
    model: DEFAULT_MODEL,
    dispatchNumber: 10,
    round: 1,
    refusals: 0,
    batches: MAX_BATCHES,
    halvings: 0,
  };
  expect(await limitBatches(context, { ...claimed, status: "dispatching" })).toBe(false);
  expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", dispatchNumber: 10 });
  expect(await failures()).toEqual([]);
});
