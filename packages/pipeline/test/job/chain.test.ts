import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { CHAIN_ALIVE_MS, endChain, handOnChain, takeChain } from "../../src/job/sql/poller-chain.ts";
import { documents, NOW, recordJob, rows } from "../../test-support/index.ts";
import { continueRun, runPoller } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

beforeEach(async () => {
  await env.DB.exec("DELETE FROM jobs");
  await env.DB.exec("DELETE FROM heartbeats");
});

const chain = () => rows(env.DB, "SELECT at, token FROM heartbeats WHERE name = 'chain'");

/** Records jobs with submits so slow that a run has time for three. */
async function slowJobs(count: number): Promise<void> {
  for (let job = 0; job < count; job += 1)
    await recordJob(context.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
  // Dispatched before, so not merged.
  await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
  service.onSubmit = () => {
    context.clock.now += 15_000;
    return undefined;
  };
}

describe("a run that uses up its share while jobs are due", () => {
  it("continues in fresh invocations until nothing is due", async () => {
    await slowJobs(10);
    await runPoller(context);
    expect(service.submits.length).toBeLessThan(10);
    expect(context.continued).toHaveLength(1);
    for (let run = 0; run < context.continued.length; run += 1)
      await continueRun(context, context.continued[run] ?? "");
    expect(service.submits).toHaveLength(10);
    expect(context.continued.length).toBeGreaterThan(1);
    expect(await chain()).toEqual([]);
  });

  it("starts no second chain while one is alive", async () => {
    await slowJobs(10);
    await handOnChain(context.db, null, "another", NOW - CHAIN_ALIVE_MS + 60_000);
    await runPoller(context);
    expect(context.continued).toEqual([]);
    expect(await chain()).toMatchObject([{ token: "another" }]);
  });

  it("starts another if the last shows no activity", async () => {
    await slowJobs(10);
    await handOnChain(context.db, null, "lost", NOW - CHAIN_ALIVE_MS);
    await runPoller(context);
    expect(await chain()).toMatchObject([{ token: context.continued[0] }]);
  });

  it("ends the chain if its message cannot be sent", async () => {
    await slowJobs(10);
    await runPoller({ ...context, continueLater: () => Promise.reject(new Error("Queue is overloaded")) });
    expect(await chain()).toEqual([]);
    expect(context.events.filter(({ event }) => event === "chain_broke_off")).toHaveLength(1);
  });
});

it("a run that finds more due than one claim takes starts the chain immediately", async () => {
  await env.DB.exec(
    `INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes, request_id,
       due_at, created_at, dispatched_at, dispatches, members)
     WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200)
     SELECT 'job-' || n, 'm', 'interactive', 'dispatched', 1, 1, 1, 3, 200, 'r' || n, 1, 1, ${NOW}, '[{"number":1}]', '[]' FROM n`.replaceAll(
      "\n",
      " ",
    ),
  );
  const sentBefore: number[] = [];
  service.onPoll = () => service.answer([]);
  await runPoller({
    ...context,
    continueLater: async () => {
      sentBefore.push(service.polls.length);
    },
  });
  expect(sentBefore).toEqual([0]);
  expect(service.polls).toHaveLength(200);
});

it("a run that ends because nothing is due does not continue the chain", async () => {
  await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
  await runPoller(context);
  expect(context.continued).toEqual([]);
  expect(await chain()).toEqual([]);
});

describe("a message that continues a run", () => {
  it("starts one run, however often it is delivered", async () => {
    await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
    await handOnChain(context.db, null, "token", NOW);
    await continueRun(context, "token");
    expect(service.submits).toHaveLength(1);
    await recordJob(context.db, documents("e", 1), { now: NOW, dueAt: NOW });
    await continueRun(context, "token");
    await continueRun(context, "unknown");
    expect(service.submits).toHaveLength(1);
    expect(context.events.filter(({ event }) => event === "chain_message_stale")).toHaveLength(2);
  });

  it("writes no heartbeat of the cron", async () => {
    await handOnChain(context.db, null, "token", NOW);
    await continueRun(context, "token");
    expect(await rows(env.DB, "SELECT name FROM heartbeats")).toEqual([]);
  });
});

describe("the chain's token", () => {
  it("is valid for one holder, and a repeated step of the same holder succeeds", async () => {
    expect(await handOnChain(context.db, null, "t1", NOW)).toBe(true);
    expect(await handOnChain(context.db, null, "t1", NOW)).toBe(true);
    expect(await takeChain(context.db, "t1", "run1", NOW + 1)).toBe(true);
    expect(await takeChain(context.db, "t1", "run1", NOW + 1)).toBe(true);
    expect(await takeChain(context.db, "t1", "run2", NOW + 2)).toBe(false);
    expect(await handOnChain(context.db, "run2", "t2", NOW + 3)).toBe(false);
    expect(await handOnChain(context.db, "run1", "t3", NOW + 4)).toBe(true);
    expect(await chain()).toEqual([{ at: NOW + 4, token: "t3" }]);
  });

  it("ends with its own holder only", async () => {
    await handOnChain(context.db, null, "t1", NOW);
    await endChain(context.db, "t0");
    expect(await chain()).toHaveLength(1);
    await endChain(context.db, "t1");
    expect(await handOnChain(context.db, null, "t2", NOW + 1)).toBe(true);
  });
});
