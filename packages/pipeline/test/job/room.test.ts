import { env } from "cloudflare:test";
import type { DatabaseLevel } from "@sluice/core";
import { databaseBytes } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import type { PollerContext } from "../../src/job/poller-context.ts";
import { runPoller } from "../../src/job/run-poller.ts";
import { readDatabaseSize, recordDatabaseSize } from "../../src/platform/sql/database-size.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { fullDatabase } from "../../test-support/full-database.ts";
import { BatchService, documents, jobs, NOW, onlyJob, recordJob, RUN, testContext } from "../../test-support/index.ts";

/** The first run that sweeps. */
const SWEEP_AT = NOW + 2 * RUN;

let service: BatchService;
beforeEach(() => {
  service = new BatchService();
});

/** A poller whose retention notes its levels, and what was dispatched by then. */
function poller(d1 = env.DB, more: Partial<PollerContext> = {}) {
  const retained: { level: DatabaseLevel; calls: number }[] = [];
  const inner = testContext(d1, service);
  const retain = async (_: PollerContext, level: DatabaseLevel) => {
    retained.push({ level, calls: service.calls.length });
  };
  const context: PollerContext = { ...inner, retain, ...more };
  const named = (event: string) => inner.events.filter((one) => one.event === event);
  return { context, retained, named, clock: inner.clock };
}

/** The size of the database that tests begin with. */
async function sizeNow(): Promise<number> {
  return (await env.DB.prepare("SELECT 1").all()).meta.size_after;
}

const dueJob = () => recordJob(testContext(env.DB, service).db, documents("d", 1), { now: NOW, dueAt: NOW });

describe("a run of the poller", () => {
  it("records a new level at once, in the run that finds it", async () => {
    const { context, named } = poller(env.DB, { maxDatabaseBytes: Math.round((await sizeNow()) / 0.75) });
    await runPoller(context);
    expect(await readDatabaseSize(context.db, NOW)).toMatchObject({ level: "high", since: NOW });
    expect(named("database_level")).toMatchObject([{ from: "normal", to: "high" }]);
  });

  it("logs a new level that its first call records", async () => {
    const { context, named, clock } = poller();
    for (let run = 0; run < 2; run += 1) {
      clock.now += RUN / 2;
      await runPoller(context);
    }
    expect(named("database_level")).toEqual([]);
    clock.now += RUN / 2;
    await runPoller({ ...context, maxDatabaseBytes: Math.round((await sizeNow()) / 0.75) });
    expect(named("database_level")).toMatchObject([{ from: "normal", to: "high" }]);
  });

  it("records a size with its first call, once a minute", async () => {
    const { d1, counts } = countedDatabase(env.DB);
    const { context, clock } = poller(d1, { retain: null });
    await runPoller(context);
    expect(await readDatabaseSize(context.db, NOW)).toBeNull();
    const written: number[] = [];
    // A fourth run would sweep.
    for (let run = 0; run < 3; run += 1) {
      clock.now += RUN / 2;
      counts.length = 0;
      await runPoller(context);
      expect(counts).toHaveLength(9);
      written.push(counts.filter((one) => one.statement.includes("database_size")).reduce((n, c) => n + c.written, 0));
    }
    expect(written).toEqual([1, 0, 1]);
    expect(await readDatabaseSize(context.db, clock.now)).toMatchObject({ level: "normal", age: 0 });
  });

  it("refreshes an old size above normal even in a fresh isolate", async () => {
    const limit = Math.round((await sizeNow()) / 0.75);
    await recordDatabaseSize(testContext(env.DB, service).db, { bytes: limit * 0.8, limit }, NOW - RUN);
    const { context } = poller(env.DB, { maxDatabaseBytes: limit });
    await runPoller(context);
    expect(await readDatabaseSize(context.db, NOW)).toMatchObject({ level: "high", since: NOW - RUN, age: 0 });
  });

  it("lets retention run last in a sweep, and first in every run while under pressure", async () => {
    const idle = poller();
    await runPoller(idle.context);
    expect(idle.retained).toEqual([]);
    await dueJob();
    const calm = poller();
    calm.clock.now = SWEEP_AT;
    await runPoller(calm.context);
    expect(calm.retained).toEqual([{ level: "normal", calls: 1 }]);
    await env.DB.exec("UPDATE jobs SET due_at = 0");
    const pressed = poller(env.DB, { maxDatabaseBytes: Math.round((await sizeNow()) / 0.87) });
    pressed.clock.now = SWEEP_AT + RUN;
    await runPoller(pressed.context);
    expect(pressed.retained).toEqual([{ level: "pressure", calls: 1 }]);
    expect(service.calls).toHaveLength(2);
  });

  it("records that the level fell after retention has made room", async () => {
    await env.DB.prepare("INSERT INTO alerts (name, since) VALUES (?, 0)").bind("x".repeat(1_000_000)).run();
    const limit = Math.round((await sizeNow()) / 0.97);
    const { context } = poller(env.DB, {
      maxDatabaseBytes: limit,
      retain: async ({ db }) => void (await db.$client.prepare("DELETE FROM alerts").run()),
    });
    await runPoller(context);
    expect(databaseBytes(context.db)).toBeLessThan(limit / 2);
    expect(await readDatabaseSize(context.db, NOW)).toMatchObject({ level: "normal" });
  });
});

describe("a run of the poller while D1 refuses writes because the database is full", () => {
  it("makes room before any write succeeds, and then processes what is due", async () => {
    await dueJob();
    const state = { isFull: true };
    const { d1, refused } = fullDatabase(env.DB, () => state.isFull);
    const { context, named } = poller(d1, {
      retain: async (_, level) => {
        expect(level).toBe("full");
        state.isFull = false;
      },
    });
    await runPoller(context);
    expect(refused).toHaveLength(1);
    expect(named("database_full")).toHaveLength(1);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched" });
  });

  it("ends after a second try, changes nothing, and the next run continues", async () => {
    await dueJob();
    const state = { isFull: true };
    const { d1, refused } = fullDatabase(env.DB, () => state.isFull);
    const { context, retained, clock } = poller(d1);
    const before = await jobs(env.DB);
    await runPoller(context);
    expect(refused).toHaveLength(2);
    expect(retained).toEqual([{ level: "full", calls: 0 }]);
    expect(await jobs(env.DB)).toEqual(before);
    state.isFull = false;
    clock.now += RUN;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched" });
  });

  it("keeps an answer that it cannot apply for a later run", async () => {
    await dueJob();
    const state = { isFull: false };
    const { d1 } = fullDatabase(env.DB, () => state.isFull);
    const { context, clock, named } = poller(d1);
    await runPoller(context);
    service.onPoll = async () => {
      state.isFull = true;
      return undefined;
    };
    clock.now += RUN;
    await runPoller(context);
    expect(named("job_broke_off")).toHaveLength(1);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", refusals: 0 });
    state.isFull = false;
    service.onPoll = null;
    clock.now += RUN;
    await runPoller(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "succeeded" });
    expect(service.calls.filter((call) => "requests" in call)).toHaveLength(1);
  });
});
