import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import {
  BatchService,
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  recordJob,
  RUN,
  scoresInView,
  shuffled,
  testIo,
  unreliableDatabase,
  type Fault,
} from "../../test-support/index.ts";
import { runPoller, runUntilDone, hold } from "../../test-support/drive.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

let service: BatchService;
let submission: SubmissionId;
const LIST = documents("d", 6);

beforeEach(async () => {
  service = new BatchService();
  service.order = shuffled;
  // The first answer lacks two documents, so that there is a follow-up to make twice.
  service.items = (item, { query }) =>
    service.submits.length === 1 && (query === LIST[1]?.query || query === LIST[4]?.query) ? [] : [item];
  ({ submission } = await recordJob(testIo(env.DB, service).db, LIST, { now: NOW, dueAt: NOW }));
});

it("a run whose polls break off ends after the batch that it has under way", async () => {
  const io = testIo(env.DB, service);
  await runPoller(io);
  const other = await recordJob(io.db, documents("e", 1), { now: NOW, dueAt: NOW });
  service.pendingPolls = Infinity;
  const { letGo } = hold(service, "onSubmit");
  const { d1 } = unreliableDatabase(
    env.DB,
    (_, sql) => {
      const isNextClaim = sql.startsWith("UPDATE jobs SET due_at = iif(");
      // Whoever does not wait for the batch has ended by the next turn.
      if (isNextClaim) setTimeout(letGo, 0);
      return isNextClaim ? "before" : null;
    },
    "D1_ERROR: something odd",
  );
  const failing = testIo(d1, service);
  failing.clock.now += RUN;
  await expect(runPoller(failing)).rejects.toThrow();
  expect(await jobs(env.DB)).toContainEqual(expect.objectContaining({ id: other.job, status: "dispatched" }));
});

/** Runs a minute apart over a D1 that fails as told, each ended by what it throws. */
async function runOver(d1: D1Database, runs: number) {
  const io = testIo(d1, service);
  for (let run = 0; run < runs; run += 1) {
    await runPoller(io).catch(() => undefined);
    io.clock.now += RUN;
  }
  return io;
}

/** What must hold when faults have stopped and time has passed. */
async function expectEnded(): Promise<void> {
  expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
  expect(await counters(env.DB, submission)).toEqual({
    total: 6,
    recorded: 6,
    succeeded: 6,
    failed: 0,
    canceled: 0,
    completed: true,
  });
  const all = await jobs(env.DB);
  expect(service.submits.length).toBeLessThanOrEqual(all.reduce((sum, job) => sum + job.dispatchNumber, 0));
  expect(all.filter(({ round }) => round === 1)).toHaveLength(1);
  for (const job of all) expect(job.unconfirmed + job.repeated).toBe(Math.max(0, job.dispatchNumber - 1));
}

/** Calls to D1 that four runs make: dispatch, poll and finalize, dispatch and poll the follow-up. */
const RUNS = 4;
const MAX_CALLS = 33;

describe("an error of D1", () => {
  it("can befall fewer calls than are tried here", async () => {
    const { d1, calls } = unreliableDatabase(env.DB);
    await runOver(d1, RUNS);
    expect(calls.length).toBeLessThan(MAX_CALLS);
    await expectEnded();
  });

  const faults = Array.from({ length: MAX_CALLS }, (_, index) => index + 1).flatMap((call) => [
    { call, fault: "before" as Fault },
    { call, fault: "after" as Fault },
  ]);

  it.each(faults)("loses nothing and applies nothing twice: $fault call $call", async ({ call, fault }) => {
    const { d1 } = unreliableDatabase(env.DB, (number) => (number === call ? fault : null));
    const { clock } = await runOver(d1, RUNS);
    const healthy = testIo(env.DB, service);
    healthy.clock.now = clock.now + DISPATCH_LEASE_MS;
    await runUntilDone(healthy);
    await expectEnded();
  });

  it("at every second call only takes longer", async () => {
    const { d1 } = unreliableDatabase(env.DB, (number) =>
      number % 2 === 0 ? (number % 4 === 0 ? "after" : "before") : null,
    );
    const { clock } = await runOver(d1, 30);
    const healthy = testIo(env.DB, service);
    healthy.clock.now = clock.now + DISPATCH_LEASE_MS;
    await runUntilDone(healthy);
    await expectEnded();
  });
});
