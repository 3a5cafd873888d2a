import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import {
  BatchService,
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
  testIo,
  type SubmitCall,
  type TestIo,
} from "../../test-support/index.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";

let service: BatchService;
let io: TestIo;
beforeEach(() => {
  service = new BatchService();
  service.order = shuffled;
  io = testIo(env.DB, service);
});

const MINUTE = 60_000;
const POISON = "5006: Error: one of the inputs is invalid";

/** Where `count` bad documents lie: spread evenly, side by side at the front, or at the end. */
const places = {
  spread: (count: number, of: number) => Array.from({ length: count }, (_, index) => Math.floor((index * of) / count)),
  first: (count: number) => Array.from({ length: count }, (_, index) => index),
  last: (count: number, of: number) => Array.from({ length: count }, (_, index) => of - 1 - index),
};

const cases = [17, 64, 100].flatMap((of) =>
  [1, 2, 5].flatMap((bad) => (Object.keys(places) as (keyof typeof places)[]).map((where) => ({ of, bad, where }))),
);

/** Refuses a batch as long as one of these documents is in it. */
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
  // Every document of the root is in exactly one job that ended with it.
  const ends = (await jobs(env.DB)).filter(({ status }) => status !== "split").flatMap((job) => job.documents);
  expect(ends.toSorted()).toEqual(list.map(({ id }) => id).toSorted());
}

describe("a batch with invalid input", () => {
  it.each(cases)("is cut down to $bad bad of $of, $where, within 2·k·log₂N + 2 calls", async ({ of, bad, where }) => {
    const list = documents("d", of, 1);
    const ids = places[where](bad, of).map((place) => `d${place}`);
    const { submission } = await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(ids, list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError(POISON)) : undefined);
    await runUntilDone(io);
    expect(service.submits.length).toBeLessThanOrEqual(2 * bad * Math.log2(of) + 2);
    await expectIsolated(submission, list, ids);
  });

  it("is cut as well when only its poll says so", async () => {
    const list = documents("d", 64, 1);
    const { submission } = await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d37"], list);
    const poisoned = new Set<string>();
    service.onSubmit = (call) => {
      if (isPoisoned(call)) poisoned.add(`batch-${service.submits.length}`);
    };
    service.onPoll = ({ requestId }) =>
      poisoned.has(requestId) ? { success: false, status: "failed", errors: [{ message: POISON }] } : undefined;
    await runUntilDone(io);
    expect(service.submits.length).toBeLessThanOrEqual(2 * Math.log2(64) + 2);
    await expectIsolated(submission, list, ["d37"]);
  });

  it("is cut within one run, since each piece is due at once", async () => {
    const list = documents("d", 64, 1);
    await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d0"], list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError(POISON)) : undefined);
    await runPoller(io);
    expect(service.submits).toHaveLength(13);
    expect(await rows(env.DB, "SELECT document_id AS id FROM failures")).toEqual([{ id: "d0" }]);
  });
});

describe("a batch that is too large", () => {
  it("is split until its parts are taken, and nothing fails", async () => {
    const list = documents("d", 20);
    const { submission } = await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    service.onSubmit = ({ requests }) =>
      requests.length > 6 ? Promise.reject(serviceError("3006: too large")) : undefined;
    await runUntilDone(io);
    expect(service.submits.map(({ requests }) => requests.length).toSorted((a, b) => b - a)).toEqual([
      20, 7, 7, 6, 4, 4, 3, 3,
    ]);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(list));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 20, failed: 0, completed: true });
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("fails the one document that is too large alone", async () => {
    const list = documents("d", 8);
    const { submission } = await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    const isPoisoned = poison(["d3"], list);
    service.onSubmit = (call) => (isPoisoned(call) ? Promise.reject(serviceError("3006: too large")) : undefined);
    await runUntilDone(io);
    expect(await rows(env.DB, "SELECT document_id AS id, code FROM failures")).toEqual([
      { id: "d3", code: "too_large" },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 7, failed: 1, completed: true });
  });
});

it("a fault of the account, however long it lasts, does not bring a job nearer to being given up", async () => {
  await recordJob(io.db, documents("d", 3), { now: NOW, dueAt: NOW });
  service.onSubmit = () => Promise.reject(serviceError("10000: Authentication error"));
  for (let tries = 0; tries < 120; tries += 1) {
    await runPoller(io);
    io.clock.now += 16 * MINUTE;
  }
  expect(service.submits).toHaveLength(120);
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  await runPoller(io);
  expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", refusals: 1 });
  service.onSubmit = null;
  await runUntilDone(io);
  expect(await rows(env.DB, "SELECT DISTINCT status FROM outcomes")).toEqual([{ status: "succeeded" }]);
});

it("a job that is turned away a hundred times in a row is given up, and told what the service said", async () => {
  await recordJob(io.db, documents("d", 2), { now: NOW, dueAt: NOW });
  service.onSubmit = () => Promise.reject(serviceError("3040: Capacity temporarily exceeded"));
  for (let tries = 0; tries < 110; tries += 1) {
    await runPoller(io);
    io.clock.now += 31 * MINUTE;
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
    const first = await recordJob(io.db, list, { now: NOW, dueAt: NOW });
    service.onSubmit = () => Promise.reject(serviceError(error));
    await runPoller(io);
    expect(service.submits).toHaveLength(1);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", refusals: 0, dueAt: until, unconfirmed: 0 });
    expect(await rows(env.DB, "SELECT scope, reason, until FROM pauses")).toEqual([
      { scope: "model:@cf/baai/bge-m3", reason, until },
    ]);

    const later = documents("later", 2);
    const second = await recordJob(io.db, later, { now: NOW, dueAt: NOW });
    service.onSubmit = null;
    while (io.clock.now + 5 * MINUTE < until) {
      io.clock.now += 5 * MINUTE;
      await runPoller(io);
    }
    io.clock.now = until - 1;
    await runPoller(io);
    expect(service.calls).toHaveLength(1);
    expect(await counters(env.DB, first.submission)).toMatchObject({ recorded: 3, succeeded: 0, failed: 0 });

    io.clock.now = until;
    await runUntilDone(io);
    expect(await counters(env.DB, first.submission)).toMatchObject({ succeeded: 3, failed: 0, completed: true });
    expect(await counters(env.DB, second.submission)).toMatchObject({ succeeded: 2, failed: 0, completed: true });
    expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes")).toEqual([{ attempts: 1 }]);
  });

  it("a run stops calling for the jobs that it holds", async () => {
    for (let job = 0; job < 30; job += 1) await recordJob(io.db, documents(`j${job}-`, 1), { now: NOW, dueAt: NOW });
    // Dispatched before, so that they are not merged.
    await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
    service.onSubmit = () => Promise.reject(serviceError(error));
    await runPoller(io);
    // As many as are in flight together.
    expect(service.submits.length).toBeLessThanOrEqual(6);
    expect((await jobs(env.DB)).every(({ status }) => status === "pending")).toBe(true);
  });

  it("what is dispatched already is polled all the same", async () => {
    const { submission } = await recordJob(io.db, documents("d", 2), { now: NOW, dueAt: NOW });
    await runPoller(io);
    await recordJob(io.db, documents("e", 1), { now: NOW, dueAt: NOW });
    service.onSubmit = () => Promise.reject(serviceError(error));
    await nextRun(io);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 2, completed: true });
  });
});
