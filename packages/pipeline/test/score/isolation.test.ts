import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  MIDNIGHT,
  NOW,
  onlyJob,
  recordJob,
  rows,
  scoresInView,
  serviceError,
  shuffled,
  type SubmitCall,
} from "../../test-support/index.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

beforeEach(() => {
  service.order = shuffled;
});

const MINUTE = 60_000;
const POISON = "5006: Error: one of the inputs is invalid";

/** The positions of `count` bad documents: evenly spread, together at the front, or at the end. */
const places = {
  spread: (count: number, of: number) => Array.from({ length: count }, (_, index) => Math.floor((index * of) / count)),
  first: (count: number) => Array.from({ length: count }, (_, index) => index),
  last: (count: number, of: number) => Array.from({ length: count }, (_, index) => of - 1 - index),
};

const cases = [17, 64, 100].flatMap((of) =>
  [1, 2, 5].flatMap((bad) => (Object.keys(places) as (keyof typeof places)[]).map((where) => ({ of, bad, where }))),
);

/** Refuses every batch with one of these documents. */
function poison(ids: readonly string[], list: ReturnType<typeof documents>): (call: SubmitCall) => boolean {
  const queries = new Set(list.filter(({ id }) => ids.includes(id)).map(({ query }) => query));
  return ({ requests }) => requests.some(({ query }) => queries.has(query));
}

async function expectIsolated(
  submission: Parameters<typeof counters>[1],
  list: ReturnType<typeof documents>,
  bad: readonly string[],
) {
  const good = list.filter(({ id }) => !bad.includes(id));
  expect(await scoresInView(env.DB)).toEqual(expectedScores(good));
  const failed = bad.map((id) => ({ id, code: "invalid_input", message: POISON, attempts: 1 }));
  expect(await rows(env.DB, "SELECT document_id AS id, code, message, attempts FROM failures ORDER BY id")).toEqual(
    failed.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  expect(await counters(env.DB, submission)).toEqual({
    total: list.length,
    recorded: list.length,
    succeeded: good.length,
    failed: bad.length,
    canceled: 0,
    completed: true,
  });
  // Every document of the root is in exactly one job that ended it.
  const ends = (await jobs(env.DB)).filter(({ status }) => status !== "split").flatMap((job) => job.documents);
  expect(ends.toSorted()).toEqual(list.map(({ id }) => id).toSorted());
}

describe("a batch with invalid input", () => {
  it.each(cases)("is split down to $bad bad of $of, $where, within 2·k·log₂N + 2 calls", async ({ of, bad, where }) => {
    const list = documents("d", of, 1);
    const ids = places[where](bad, of).map((place) => `d${place}`);
    const { submission } = await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(ids, list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError(POISON)) : undefined);
    await runUntilDone(context);
    expect(service.submits.length).toBeLessThanOrEqual(2 * bad * Math.log2(of) + 2);
    await expectIsolated(submission, list, ids);
  });

  it("is split too if only the poll reports it", async () => {
    const list = documents("d", 64, 1);
    const { submission } = await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d37"], list);
    const poisoned = new Set<string>();
    service.onSubmit = (call) => {
      if (isPoisoned(call)) poisoned.add(`batch-${service.submits.length}`);
    };
    service.onPoll = ({ requestId }) =>
      poisoned.has(requestId) ? { success: false, status: "failed", errors: [{ message: POISON }] } : undefined;
    await runUntilDone(context);
    expect(service.submits.length).toBeLessThanOrEqual(2 * Math.log2(64) + 2);
    await expectIsolated(submission, list, ["d37"]);
  });

  it("is split within one run, because each piece is due immediately", async () => {
    const list = documents("d", 64, 1);
    await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d0"], list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError(POISON)) : undefined);
    await runPoller(context);
    expect(service.submits).toHaveLength(13);
    expect(await rows(env.DB, "SELECT document_id AS id FROM failures")).toEqual([{ id: "d0" }]);
  });
});

describe("a batch that is too large", () => {
  it("is split until its pieces are accepted, and nothing fails", async () => {
    const list = documents("d", 20);
    const { submission } = await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    service.onSubmit = ({ requests }) =>
      requests.length > 6 ? Promise.reject(serviceError("3006: too large")) : undefined;
    await runUntilDone(context);
    expect(service.submits.map(({ requests }) => requests.length).toSorted((a, b) => b - a)).toEqual([
      20, 7, 7, 6, 4, 4, 3, 3,
    ]);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(list));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 20, failed: 0, completed: true });
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("fails the one document that is too large on its own", async () => {
    const list = documents("d", 8);
    const { submission } = await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d3"], list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError("3006: too large")) : undefined);
    await runUntilDone(context);
    expect(await rows(env.DB, "SELECT document_id AS id, code FROM failures")).toEqual([
      { id: "d3", code: "too_large" },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 7, failed: 1, completed: true });
  });
});

it("a fault of the account never counts as a refusal of a job, however long it lasts", async () => {
  await recordJob(context.db, documents("d", 3), { now: NOW, dueAt: NOW });
  service.onSubmit = () => Promise.reject(serviceError("10000: Authentication error"));
  for (let tries = 0; tries < 120; tries += 1) {
    await runPoller(context);
    context.clock.now += 16 * MINUTE;
  }
  expect(service.submits).toHaveLength(120);
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  await runPoller(context);
  expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", refusals: 1 });
  service.onSubmit = null;
  await runUntilDone(context);
  expect(await rows(env.DB, "SELECT DISTINCT status FROM outcomes")).toEqual([{ status: "succeeded" }]);
});

it("a job refused 100 consecutive times fails with the message of the service", async () => {
  await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  for (let tries = 0; tries < 110; tries += 1) {
    await runPoller(context);
    context.clock.now += 31 * MINUTE;
  }
  expect(service.submits).toHaveLength(100);
  expect(await rows(env.DB, "SELECT DISTINCT code, message FROM outcomes")).toEqual([
    {
      code: "no_answer",
      message: expect.stringMatching(
        /^Workers AI refused the document 100 times in a row; last error: .*Capacity/,
      ) as string,
    },
  ]);
});

describe.each([
  {
    fault: "the day's neurons are used up",
    error: "3036: used up your daily free allocation",
    reason: "daily_limit",
    until: MIDNIGHT,
  },
  {
    fault: "the account is refused",
    error: "10000: Authentication error",
    reason: "configuration",
    until: NOW + 15 * MINUTE,
  },
])("when $fault", ({ error, reason, until }) => {
  it("nothing is dispatched until the pause ends, and then everything is", async () => {
    const list = documents("d", 3);
    const first = await recordJob(context.db, list, { now: NOW, dueAt: NOW });
    service.onSubmit = () => Promise.reject(serviceError(error));
    await runPoller(context);
    expect(service.submits).toHaveLength(1);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", refusals: 0, dueAt: until, unconfirmed: 0 });
    expect(await rows(env.DB, "SELECT scope, reason, until FROM pauses")).toEqual([
      { scope: "model:@cf/baai/bge-m3", reason, until },
    ]);

    const later = documents("later", 2);
    const second = await recordJob(context.db, later, { now: NOW, dueAt: NOW });
    service.onSubmit = null;
    while (context.clock.now + 5 * MINUTE < until) {
      context.clock.now += 5 * MINUTE;
      await runPoller(context);
    }
    context.clock.now = until - 1;
    await runPoller(context);
    expect(service.calls).toHaveLength(1);
    expect(await counters(env.DB, first.submission)).toMatchObject({ recorded: 3, succeeded: 0, failed: 0 });

    context.clock.now = until;
    await runUntilDone(context);
    expect(await counters(env.DB, first.submission)).toMatchObject({ succeeded: 3, failed: 0, completed: true });
    expect(await counters(env.DB, second.submission)).toMatchObject({ succeeded: 2, failed: 0, completed: true });
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("a run makes no more calls for held jobs", async () => {
    for (let job = 0; job < 30; job += 1)
      await recordJob(context.db, documents(`j${job}-`, 1), { now: NOW, dueAt: NOW });
    // Dispatched before, so not merged.
    await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
    service.onSubmit = () => Promise.reject(serviceError(error));
    await runPoller(context);
    // The number of submits in flight together.
    expect(service.submits.length).toBeLessThanOrEqual(6);
    expect((await jobs(env.DB)).every(({ status }) => status === "pending")).toBe(true);
  });

  it("dispatched jobs are still polled", async () => {
    const { submission } = await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
    await runPoller(context);
    await recordJob(context.db, documents("e", 1), { now: NOW, dueAt: NOW });
    service.onSubmit = () => Promise.reject(serviceError(error));
    await nextRun(context);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 2, completed: true });
  });
});
