import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import type { Lane } from "@sluice/core";
import { documents, jobs, NOW, recordJob, RUN, testContext } from "../../test-support/index.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

/** Records dispatched jobs whose batches never finish. A batch is named after its lane. */
async function underWay(
  counts: Readonly<Record<Lane, number>>,
  ages: (index: number) => number = () => 0,
): Promise<void> {
  const insert = env.DB.prepare(
    `INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes,
       request_id, due_at, created_at, dispatched_at, dispatches, members)
     VALUES (?1, '@cf/baai/bge-m3', ?2, 'dispatched', 1, 1, 1, 3, 200, ?3, ?4, ?4, ?5, '[{"number":1}]', '[]')`,
  );
  const lanes = (["bulk", "interactive"] as const).flatMap((lane) => Array.from({ length: counts[lane] }, () => lane));
  await env.DB.batch(
    lanes.map((lane, index) => insert.bind(`job-${index}`, lane, `${lane} ${index}`, NOW, NOW - ages(index))),
  );
  service.onPoll = ({ requestId }) => ({ status: "running", request_id: requestId });
}
const polledLanes = () => service.polls.map(({ requestId }) => requestId.split(" ")[0]);

describe("a run", () => {
  it("polls interactive jobs before bulk ones", async () => {
    await underWay({ bulk: 8, interactive: 8 });
    service.onPoll = () => service.answer([]);
    await nextRun(context);
    expect(polledLanes()).toEqual([
      ...Array.from({ length: 8 }, () => "interactive"),
      ...Array.from({ length: 8 }, () => "bulk"),
    ]);
  });

  it("polls bulk jobs too, however many interactive ones are due", async () => {
    await underWay({ bulk: 5, interactive: 400 });
    service.onPoll = () => {
      context.clock.now += 200;
      return service.answer([]);
    };
    await nextRun(context);
    expect(polledLanes().filter((lane) => lane === "bulk")).toHaveLength(5);
    expect(polledLanes().filter((lane) => lane === "interactive").length).toBeLessThan(400);
  });

  it("polls every due job whose batch is done, and finalizes them in sets", async () => {
    for (let job = 0; job < 150; job += 1)
      await recordJob(context.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
    await env.DB.exec(
      `UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]' WHERE status = 'pending' AND dispatch_number = 0`,
    );
    await runPoller(context);
    await runUntilDone(context);
    const finalized = context.events.filter(({ event }) => event === "job_finalized");
    expect(finalized).toHaveLength(150);
    expect(finalized.every(({ held }) => held === true)).toBe(true);
    expect(service.polls).toHaveLength(150);
  });

  it("sends at most one statement per ten answers of single documents", async () => {
    await underWay({ bulk: 0, interactive: 200 });
    service.onPoll = () => service.answer([]);
    const before = context.statements();
    await nextRun(context);
    expect((await jobs(env.DB)).filter(({ status }) => status === "succeeded")).toHaveLength(200);
    expect(context.statements() - before).toBeLessThanOrEqual(4 + 3 + 20);
  });

  it.each([300, 120])("stays within the 1,000 statements of an invocation with %d jobs to dispatch", async (count) => {
    for (let job = 0; job < count; job += 1)
      await recordJob(context.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
    await env.DB.exec(
      `UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]' WHERE status = 'pending' AND dispatch_number = 0`,
    );
    const before = context.statements();
    await runPoller(context);
    expect(context.statements() - before).toBeLessThanOrEqual(1_000);
    expect(service.submits.length).toBeGreaterThanOrEqual(60);
    // Jobs that it claimed and did not start are due now for the next run.
    for (let run = 2; run <= 5; run += 1) await runPoller(context);
    expect(service.submits).toHaveLength(count);
  });

  it("stays within them if every answer lacks a document", async () => {
    for (let job = 0; job < 90; job += 1)
      await recordJob(context.db, documents(`d${job}-`, 3), { now: NOW, dueAt: NOW });
    await env.DB.exec(
      `UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]' WHERE status = 'pending' AND dispatch_number = 0`,
    );
    await runPoller(context);
    for (let job = 90; job < 300; job += 1)
      await recordJob(context.db, documents(`d${job}-`, 3), { now: NOW, dueAt: NOW });
    await env.DB.exec(
      `UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]' WHERE status = 'pending' AND dispatch_number = 0`,
    );
    // One document of each job gets no result, so each needs a follow-up job.
    service.items = (item) => (item.index === 0 ? [] : [item]);
    context.clock.now = NOW + 5 * RUN;
    const before = context.statements();
    await runPoller(context);
    expect(context.statements() - before).toBeLessThanOrEqual(1_000);
    expect(context.statements() - before).toBeGreaterThan(550);
  });

  it("has at most six polls in flight", async () => {
    await underWay({ bulk: 10, interactive: 20 });
    let polls = 0;
    let inFlight = 0;
    let max = 0;
    service.onPoll = async ({ requestId }) => {
      inFlight += 1;
      max = Math.max(max, inFlight);
      // A call to D1, so that anything that may run in parallel does.
      await env.DB.prepare("SELECT 1").run();
      inFlight -= 1;
      polls += 1;
      return polls % 3 === 0 ? service.answer([]) : { status: "running", request_id: requestId };
    };
    await nextRun(context);
    expect(service.polls).toHaveLength(30);
    expect(max).toBe(6);
  });

  it("starts no new work when the next run is about to start", async () => {
    await underWay({ bulk: 0, interactive: 60 });
    service.onPoll = () => {
      context.clock.now += 2_500;
      return service.answer([]);
    };
    await nextRun(context);
    expect(service.polls.length).toBeGreaterThanOrEqual(18);
    expect(service.polls.length).toBeLessThanOrEqual(24);
  });

  it("continues with the other jobs if one fails", async () => {
    for (const name of ["a", "b"]) await recordJob(context.db, documents(name, 1), { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
    await runPoller(context);
    await env.DB.exec("UPDATE jobs SET request_id = ' ' WHERE request_id = 'batch-1'");
    await nextRun(context);
    expect((await jobs(env.DB)).map(({ status }) => status).toSorted()).toEqual(["dispatched", "succeeded"]);
    expect(context.events.filter(({ event }) => event === "job_broke_off")).toHaveLength(1);
    expect(context.events.at(-1)).toMatchObject({ event: "poller_run", jobs: 2, failed: 1 });
  });

  it("with nothing due calls D1 once, for any number of ended and future jobs", async () => {
    for (let job = 0; job < 10; job += 1)
      await recordJob(context.db, documents(`d${job}-`, 1), { now: NOW, dueAt: NOW });
    await runPoller(context);
    await runUntilDone(context);
    await recordJob(context.db, documents("later", 1), { now: NOW, dueAt: NOW + 1_000 * RUN });
    const { d1, counts } = countedDatabase(env.DB);
    const idle = testContext(d1, service);
    const calls = service.calls.length;
    await runPoller(idle);
    // One transaction: whether the last heartbeat is too old, the heartbeat, which writes no row if the last is half a
    // minute old, the end of pauses, the claim, the recorded size, and whether there is a retry or a deletion.
    expect(counts).toHaveLength(7);
    expect(counts.at(-1)).toMatchObject({ read: 2, written: 0 });
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBeLessThanOrEqual(1);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(28);
    expect(service.calls).toHaveLength(calls);
    expect(idle.events).toEqual([]);
  });
});
