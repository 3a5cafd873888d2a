import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  recordJob,
  RUN,
  scoresInView,
  shuffled,
  testContext,
  unreliableDatabase,
  type Fault,
} from "../../test-support/index.ts";
import { runPoller, runUntilDone, hold } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

let submission: SubmissionId;
const LIST = documents("d", 6);

beforeEach(async () => {
  service.order = shuffled;
  // The first answer lacks two documents, so there is a follow-up that could be created twice.
  service.items = (item, { query }) =>
    service.submits.length === 1 && (query === LIST[1]?.query || query === LIST[4]?.query) ? [] : [item];
  ({ submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW }));
});

it("a run whose polls fail ends only after its submit in flight", async () => {
  await runPoller(context);
  const other = await recordJob(context.db, documents("e", 1), { now: NOW, dueAt: NOW });
  service.pendingPolls = Infinity;
  const { release } = hold(service, "onSubmit");
  const { d1 } = unreliableDatabase(
    env.DB,
    (_, sql) => {
      const isNextClaim = sql.startsWith("UPDATE jobs SET due_at = iif(");
      // A run that does not wait for the batch has ended by the next turn.
      if (isNextClaim) setTimeout(release, 0);
      return isNextClaim ? "before" : null;
    },
    "D1_ERROR: something odd",
  );
  const failing = testContext(d1, service);
  failing.clock.now += RUN;
  await expect(runPoller(failing)).rejects.toThrow();
  expect(await jobs(env.DB)).toContainEqual(expect.objectContaining({ id: other.job, status: "dispatched" }));
});

/** Starts runs a minute apart with a D1 that fails as specified. An error ends a run. */
async function runOver(d1: D1Database, runs: number) {
  const failing = testContext(d1, service);
  for (let run = 0; run < runs; run += 1) {
    await runPoller(failing).catch(() => undefined);
    failing.clock.now += RUN;
  }
  return failing;
}

/** Checks the state after the faults have stopped and time has passed. */
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

/** D1 calls of four runs: dispatch, poll and finalize, dispatch and poll the follow-up. */
const RUNS = 4;
const MAX_CALLS = 33;

describe("an error of D1", () => {
  it("is tried at more calls than the runs make", async () => {
    const { d1, calls } = unreliableDatabase(env.DB);
    await runOver(d1, RUNS);
    expect(calls.length).toBeLessThan(MAX_CALLS);
    await expectEnded();
  });

  const faults = Array.from({ length: MAX_CALLS }, (_, index) => index + 1).flatMap((call) => [
    { call, fault: "before" as Fault },
    { call, fault: "after" as Fault },
  ]);

  it.each(faults)("neither loses nor repeats anything: $fault call $call", async ({ call, fault }) => {
    const { d1 } = unreliableDatabase(env.DB, (number) => (number === call ? fault : null));
    const { clock } = await runOver(d1, RUNS);
    context.clock.now = clock.now + DISPATCH_LEASE_MS;
    await runUntilDone(context);
    await expectEnded();
  });

  it("at every second call only delays the end", async () => {
    const { d1 } = unreliableDatabase(env.DB, (number) =>
      number % 2 === 0 ? (number % 4 === 0 ? "after" : "before") : null,
    );
    const { clock } = await runOver(d1, 30);
    context.clock.now = clock.now + DISPATCH_LEASE_MS;
    await runUntilDone(context);
    await expectEnded();
  });
});
