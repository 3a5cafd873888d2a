import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { Lane } from "@sluice/core";
import { BatchService, documents, jobs, NOW, recordJob, RUN, testIo, type TestIo } from "@sluice/dispatch/test-support";
import { countedDatabase } from "../../../packages/db/test/counted-database.ts";
import { MAX_POLLS_PER_RUN, MAX_STEPS_PER_RUN, runPoller } from "../src/run-poller.ts";
import { runWithin } from "../src/run-within.ts";
import { nextRun, runUntilDone } from "./drive.ts";

let service: BatchService;
let io: TestIo;
beforeEach(() => {
  service = new BatchService();
  io = testIo(env.DB, service);
});

/** Jobs that are dispatched and under way for good; a batch is named after its lane. */
async function underWay(counts: Readonly<Record<Lane, number>>): Promise<void> {
  const insert = env.DB.prepare(
    `INSERT INTO jobs (id, model, lane, status, round, attempt, document_count, context_count, payload_bytes,
       request_id, due_at, created_at, dispatched_at, attempts, members)
     VALUES (?1, '@cf/baai/bge-m3', ?2, 'dispatched', 1, 1, 1, 3, 200, ?3, ?4, ?4, ?4, '[{"attempt":1}]', '[]')`,
  );
  const lanes = (["bulk", "interactive"] as const).flatMap((lane) => Array.from({ length: counts[lane] }, () => lane));
  await env.DB.batch(lanes.map((lane, index) => insert.bind(`job-${index}`, lane, `${lane} ${index}`, NOW)));
  service.onPoll = ({ requestId }) => ({ status: "running", request_id: requestId });
}
const polledLanes = () => service.polls.map(({ requestId }) => requestId.split(" ")[0]);

describe("a run", () => {
  it("polls interactive jobs before bulk ones", async () => {
    await underWay({ bulk: 8, interactive: 8 });
    await nextRun(io);
    expect(polledLanes()).toEqual([
      ...Array.from({ length: 8 }, () => "interactive"),
      ...Array.from({ length: 8 }, () => "bulk"),
    ]);
  });

  it("polls bulk jobs too, however many interactive ones are due", async () => {
    await underWay({ bulk: 5, interactive: 120 });
    await nextRun(io);
    expect(polledLanes().filter((lane) => lane === "bulk")).toHaveLength(5);
  });

  it.each([
    { bulk: 0, interactive: 400 },
    { bulk: 400, interactive: 0 },
    { bulk: 200, interactive: 200 },
  ])(
    "takes on its share and no more, and the next one what has waited longest: $bulk bulk, $interactive interactive",
    async (counts) => {
      await underWay(counts);
      await nextRun(io);
      // Whichever lane they are in: the share of one that has nothing due is not lost.
      expect(service.polls.length).toBeLessThanOrEqual(MAX_POLLS_PER_RUN);
      expect(service.polls.length).toBeGreaterThanOrEqual(MAX_POLLS_PER_RUN - 1);
      await nextRun(io);
      expect(service.polls.length).toBeLessThanOrEqual(2 * MAX_POLLS_PER_RUN);
      expect(new Set(service.polls.map(({ requestId }) => requestId)).size).toBe(400);
    },
  );

  it("carries so many jobs a step further, and leaves the rest to the next one", async () => {
    for (let job = 0; job < 100; job += 1) await recordJob(io.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
    await runPoller(io);
    expect(service.submits).toHaveLength(MAX_STEPS_PER_RUN);
    await nextRun(io);
    expect(service.submits).toHaveLength(100);
  });

  it("keeps inside the 1,000 queries of an invocation, whatever its jobs need", async () => {
    for (let job = 0; job < 90; job += 1) await recordJob(io.db, documents(`d${job}-`, 3), { now: NOW, dueAt: NOW });
    await runPoller(io);
    for (let job = 90; job < 300; job += 1) await recordJob(io.db, documents(`d${job}-`, 3), { now: NOW, dueAt: NOW });
    // One document of each job gets nothing, so that each brings about a follow-up job.
    service.items = (item) => (item.index === 0 ? [] : [item]);
    const { d1, counts } = countedDatabase(env.DB);
    const counted = testIo(d1, service);
    counted.clock.now = NOW + 5 * RUN;
    await runPoller(counted);
    expect(counts.length).toBeGreaterThan(MAX_STEPS_PER_RUN * 5);
    expect(counts.length).toBeLessThanOrEqual(1_000);
  });

  it("has at most six polls in flight", async () => {
    await underWay({ bulk: 10, interactive: 20 });
    let inFlight = 0;
    let most = 0;
    service.onPoll = async ({ requestId }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      // A turn through D1, so that whatever may run beside this does.
      await env.DB.prepare("SELECT 1").run();
      inFlight -= 1;
      return { status: "running", request_id: requestId };
    };
    await nextRun(io);
    expect(service.polls).toHaveLength(30);
    expect(most).toBe(6);
  });

  it("takes nothing more on when the next one is about to start", async () => {
    await underWay({ bulk: 0, interactive: 60 });
    service.onPoll = ({ requestId }) => {
      io.clock.now += 2_500;
      return { status: "running", request_id: requestId };
    };
    await nextRun(io);
    expect(service.polls).toHaveLength(20);
  });

  it("goes on with the other jobs when one breaks off", async () => {
    for (const name of ["a", "b"]) await recordJob(io.db, documents(name, 1), { now: NOW, dueAt: NOW });
    await runPoller(io);
    await env.DB.exec("UPDATE jobs SET request_id = ' ' WHERE request_id = 'batch-1'");
    await nextRun(io);
    expect((await jobs(env.DB)).map(({ status }) => status).toSorted()).toEqual(["dispatched", "succeeded"]);
    expect(io.events.filter(({ event }) => event === "job_broke_off")).toHaveLength(1);
    expect(io.events.at(-1)).toMatchObject({ event: "poller_run", jobs: 2, failed: 1 });
  });

  it("with nothing due asks D1 once, whatever has ended or is not due yet", async () => {
    for (let job = 0; job < 10; job += 1) await recordJob(io.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
    await runPoller(io);
    await runUntilDone(io);
    await recordJob(io.db, documents("later", 1), { now: NOW, dueAt: NOW + 1_000 * RUN });
    const { d1, counts } = countedDatabase(env.DB);
    const idle = testIo(d1, service);
    const calls = service.calls.length;
    await runPoller(idle);
    // One transaction: the heartbeat, which writes no row where the last is half a minute old, the end of pauses, the claim.
    expect(counts).toHaveLength(4);
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBeLessThanOrEqual(1);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(15);
    expect(service.calls).toHaveLength(calls);
    expect(idle.events).toEqual([]);
  });
});

describe("tasks that run within limits", () => {
  /** Starts tasks of these weights; gives which run, and ends them one by one. */
  function start(weights: readonly number[], limit: { atOnce: number; weight: number }) {
    const running = new Map<number, () => void>();
    const done = runWithin(
      weights.map((weight, index) => ({
        weight,
        run: () => new Promise<void>((resolve) => running.set(index, resolve)).then(() => void running.delete(index)),
      })),
      limit,
    );
    const settle = async () => {
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      return [...running.keys()];
    };
    return { done, settle, end: (index: number) => running.get(index)?.() };
  }

  it("start in their order, as many as may be at once", async () => {
    const tasks = start([1, 1, 1, 1], { atOnce: 2, weight: 100 });
    expect(await tasks.settle()).toEqual([0, 1]);
    tasks.end(1);
    expect(await tasks.settle()).toEqual([0, 2]);
    tasks.end(0);
    tasks.end(2);
    expect(await tasks.settle()).toEqual([3]);
    tasks.end(3);
    await tasks.done;
  });

  it("wait for as much room as their weight takes", async () => {
    const tasks = start([6, 6, 3], { atOnce: 6, weight: 10 });
    expect(await tasks.settle()).toEqual([0]);
    tasks.end(0);
    expect(await tasks.settle()).toEqual([1, 2]);
    tasks.end(1);
    tasks.end(2);
    await tasks.done;
  });

  it("run alone when they are heavier than the limit", async () => {
    const tasks = start([1, 50, 1], { atOnce: 6, weight: 10 });
    expect(await tasks.settle()).toEqual([0]);
    tasks.end(0);
    expect(await tasks.settle()).toEqual([1]);
    tasks.end(1);
    expect(await tasks.settle()).toEqual([2]);
    tasks.end(2);
    await tasks.done;
  });
});
