import { env } from "cloudflare:test";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { pauseDispatching, type Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { recordDatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { describe, expect, it } from "vitest";
import { claimLimits, dispatch, jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { StatsShape } from "../src/shapes/stats.ts";
import { NOW, testApi } from "./api.ts";
import { ask, at, db, endJob, failed, ids, limited, recorded, refused, scored, scoresOf } from "./stored.ts";

const MINUTE = 60_000;
const poller = async (now: number) => (await claimAtStart(db(), claimLimits(now), now, now - MINUTE)).jobs;

describe("the stats", () => {
  const stats = () => ask<StatsShape>("/v1/stats");

  it("are all zero before anything is pushed", async () => {
    const none = { queued: 0, processing: 0, succeeded: 0, failed: 0, canceled: 0 };
    expect(await stats()).toEqual({
      scorer: "workers-ai",
      lanes: { interactive: none, bulk: none },
      backlog: { documents: 0, jobs: 0 },
      oldest_waiting_at: null,
      throughput: { last_5_minutes: 0, last_hour: 0 },
      failures: {},
      malformed_messages: 0,
      pauses: [],
      poller: null,
      database: null,
      usage: { tokens: 0, jobs: 0, unconfirmed_dispatches: 0, repeated_dispatches: 0 },
    });
  });

  it("name the local stand-in if it scores", async () => {
    expect(await ask("/v1/stats", {}, await testApi({ scorer: "lexical" }))).toMatchObject({ scorer: "lexical" });
  });

  it("count documents by lane and state, failures and usage, the same after rolling up", async () => {
    await scored(ids(0, 3));
    await failed(ids(3, 5), "model_error");
    await failed(ids(5, 6), "too_large");
    const { job } = await recorded(ids(6, 10), { total: 6 }, NOW + 1);
    await open(db(), { total: 7, lane: "interactive" }, NOW + 2);
    await startDispatch(db(), { id: job, dispatchNumber: 0, status: "pending" }, { until: NOW, token: "a" }, NOW);
    await startDispatch(db(), { id: job, dispatchNumber: 1, status: "dispatching" }, { until: NOW, token: "b" }, NOW);
    const pause = {
      scope: "all",
      reason: "daily_limit",
      message: "4006",
      since: NOW,
      until: NOW + MINUTE,
    } satisfies Pause;
    await pauseDispatching(db(), pause);
    await poller(NOW - MINUTE);
    const before = await stats();
    expect(before).toEqual({
      scorer: "workers-ai",
      lanes: {
        interactive: { queued: 7, processing: 0, succeeded: 0, failed: 0, canceled: 0 },
        bulk: { queued: 2, processing: 4, succeeded: 3, failed: 3, canceled: 0 },
      },
      backlog: { documents: 13, jobs: 1 },
      oldest_waiting_at: expect.any(String),
      throughput: { last_5_minutes: 6, last_hour: 6 },
      failures: { model_error: 2, too_large: 1 },
      malformed_messages: 0,
      pauses: [{ ...pause, since: at(NOW), until: at(NOW + MINUTE) }],
      poller: { last_run_at: at(NOW - MINUTE) },
      database: null,
      usage: { tokens: 1_000, jobs: 3, unconfirmed_dispatches: 1, repeated_dispatches: 0 },
    });
    for (let folds = 0; folds < 3; folds += 1) {
      await rollUpTotals(db(), NOW + 60 * MINUTE);
      expect(await stats()).toEqual(before);
    }
    const kept = await env.DB.prepare(
      "SELECT (SELECT count(*) FROM totals) AS totals, (SELECT count(*) FROM unfolded_submissions) AS apart",
    ).first();
    expect(kept).toEqual({ totals: 4, apart: 2 });
  });

  it("count a submission that was not rolled up until it ended", async () => {
    const { submission, job } = await recorded(ids(0, 2));
    await rollUpTotals(db(), NOW + MINUTE);
    await dispatch(db(), job);
    const outcomes = ids(0, 2).map(({ id }) => scoresOf(submission, id));
    await endJob(job, { status: "succeeded", outcomes, children: [], tokens: 5, error: null });
    const before = await stats();
    expect(before.lanes.bulk.succeeded).toBe(2);
    await rollUpTotals(db(), NOW + MINUTE);
    expect(await stats()).toEqual(before);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM unfolded_submissions").first()).toEqual({ n: 0 });
  });

  it("count a document of two jobs once, in the throughput too", async () => {
    const { submission, job } = await recorded(ids(0, 2));
    await dispatch(db(), job);
    const child = { id: jobId(), round: 2, members: [[submission, ["d1"]]], dueAt: NOW } as const;
    await endJob(job, {
      status: "succeeded",
      outcomes: [scoresOf(submission, "d0")],
      children: [child],
      tokens: 1,
      error: null,
    });
    await dispatch(db(), child.id);
    await endJob(child.id, {
      status: "succeeded",
      outcomes: [scoresOf(submission, "d1")],
      children: [],
      tokens: 1,
      error: null,
    });
    expect((await stats()).throughput.last_hour).toBe(2);
  });

  it("show how full the database is from 70 % of its limit", async () => {
    await recordDatabaseSize(db(), { bytes: 699, limit: 1_000 }, NOW);
    expect((await stats()).database).toBeNull();
    await recordDatabaseSize(db(), { bytes: 700, limit: 1_000 }, NOW + 1);
    expect((await stats()).database).toEqual({ level: "high", bytes: 700, limit_bytes: 1_000, since: at(NOW + 1) });
  });

  it("separate recent throughput from older", async () => {
    await scored(ids(0, 1), {}, NOW - 61 * MINUTE);
    await scored(ids(1, 3), {}, NOW - 6 * MINUTE);
    await scored(ids(3, 6), {}, NOW);
    expect((await stats()).throughput).toEqual({ last_5_minutes: 3, last_hour: 5 });
  });

  it("count lost messages as failures of their own code", async () => {
    const submission = await open(db(), { total: 3 });
    await record(db(), jobId(), [[part(submission, 0, ids(0, 1))]]);
    await env.DB.prepare("UPDATE submissions SET lost = 2").run();
    expect(await stats()).toMatchObject({
      failures: { message_lost: 2 },
      lanes: { bulk: { failed: 2, processing: 1, queued: 0 } },
    });
  });

  it("are refused to keys that are limited to collections", async () => {
    expect((await refused("/v1/stats", {}, await limited())).response.status).toBe(403);
  });
});
