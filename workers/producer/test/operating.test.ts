import { env } from "cloudflare:test";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { holdPausedJobs, pauseDispatching, type Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { describe, expect, it } from "vitest";
import { claimLimits, dispatch, jobId, MODEL, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import { parseKeys } from "../src/http/keys.ts";
import type { PauseShape } from "../src/shapes/pause.ts";
import type { StatsShape } from "../src/shapes/stats.ts";
import { KEY, NOW, keyRecord, testApi } from "./api.ts";
import { ask, at, db, endJob, failed, ids, post, recorded, refused, scored, scoresOf } from "./stored.ts";

const MINUTE = 60_000;
const limited = async () =>
  testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { collections: ["mine"] })])) });
const pausesOf = async (path: string, body?: unknown) => (await ask<{ data: PauseShape[] }>(path, post(body))).data;
const poller = async (now: number) => (await claimAtStart(db(), claimLimits(now), now, now - MINUTE)).jobs;

describe("pausing", () => {
  it("stops everything, a model or a submission, and tells the pauses in force", async () => {
    const { submission } = await recorded(ids(0, 1));
    const requested = { reason: "requested", since: at(NOW), until: null };
    expect(await pausesOf("/v1/pause")).toEqual([{ scope: "all", message: null, ...requested }]);
    await pausesOf("/v1/pause", { model: MODEL, reason: "too dear" });
    const all = await pausesOf("/v1/pause", { submission });
    expect(all.toSorted((a, b) => a.scope.localeCompare(b.scope))).toEqual([
      { scope: "all", message: null, ...requested },
      { scope: `model:${MODEL}`, message: "too dear", ...requested },
      { scope: `submission:${submission}`, message: null, ...requested },
    ]);
    await pausesOf("/v1/pause", { model: MODEL });
    expect(await ask("/v1/resume", post({ model: MODEL }))).toEqual({
      resumed: { scope: `model:${MODEL}`, message: "too dear", ...requested },
      data: all.filter(({ scope }) => !scope.startsWith("model:")),
    });
    expect(await ask("/v1/resume", post({ model: MODEL }))).toMatchObject({ resumed: null });
    await pausesOf("/v1/resume", {});
    expect(await pausesOf("/v1/resume", { submission })).toEqual([]);
  });

  it("takes an empty body of any type for everything", async () => {
    const body = new Blob([]).stream();
    const { data } = await ask<{ data: PauseShape[] }>("/v1/pause", { method: "POST", body });
    expect(data.map((one) => one.scope)).toEqual(["all"]);
  });

  it("is told by everything that waits for it, and is over with its resumption", async () => {
    const { submission, job } = await recorded([{ id: "a" }]);
    const { submission: other } = await recorded([{ id: "b" }]);
    await ask("/v1/pause", post({ submission }));
    await holdPausedJobs(db(), { kind: "submissions", submissionIds: [submission] }, [job], NOW);
    const waiting = { reason: "paused_submission", until: null };
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ waiting });
    expect(await ask("/v1/collections/default/documents/a")).toMatchObject({ waiting });
    expect(await ask(`/v1/jobs/${job}`)).toMatchObject({ waiting });
    expect(await ask(`/v1/submissions/${other}`)).toMatchObject({ waiting: { reason: "dispatch" } });
    await ask("/v1/resume", post({ submission }));
    expect(await ask("/v1/collections/default/documents/a")).toMatchObject({ waiting: { reason: "dispatch" } });
    expect(await poller(NOW)).toMatchObject([{ id: job }]);
  });

  it.each([
    ["everything", {}, "paused"],
    ["a model", { model: MODEL }, "paused_model"],
  ])("of %s is told as such, and what is held back is polled at no time", async (_, body, reason) => {
    const { submission, job } = await recorded([{ id: "a" }]);
    const { job: sent } = await recorded([{ id: "b" }]);
    await dispatch(db(), sent);
    await ask("/v1/pause", post(body));
    const waiting = { reason, until: null };
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ status: "processing", waiting });
    expect(await ask("/v1/collections/default/documents/a")).toMatchObject({ status: "processing", waiting });
    expect(await ask(`/v1/jobs/${job}`)).toMatchObject({ status: "pending", next_poll_at: null, waiting });
    expect(await ask(`/v1/jobs/${sent}`)).toMatchObject({
      status: "dispatched",
      next_poll_at: expect.any(String) as string,
      waiting: { reason: "answer" },
    });
    expect(await ask("/v1/resume", post(body))).toMatchObject({ resumed: { reason: "requested" }, data: [] });
  });

  it("of what Workers AI has already changes nothing", async () => {
    const { submission, job } = await recorded([{ id: "a" }]);
    await dispatch(db(), job);
    await ask("/v1/pause", post());
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ waiting: { reason: "answer" } });
  });

  it.each([
    ["another model", { model: "@cf/other" }, "/model", "model must be one of"],
    ["both", { model: MODEL, submission: "sub_1" }, "/submission", "not both"],
    ["an unknown field", { until: 1 }, "/until", 'unknown field "until"; allowed here: model, submission, reason'],
    ["a list", [], "", "must be an object { model?, submission?, reason? }"],
    ["a reason of 501 characters", { reason: "x".repeat(501) }, "/reason", "at most 500"],
  ])("refuses %s", async (_, body, pointer, detail) => {
    const { response, problem } = await refused("/v1/pause", post(body));
    expect([response.status, problem.errors[0]?.pointer]).toEqual([422, pointer]);
    expect(problem.errors[0]?.detail).toContain(detail);
    expect(await pausesOf("/v1/resume")).toEqual([]);
  });

  it("and resuming take the fields that a refusal names", async () => {
    const { problem } = await refused("/v1/resume", post({ reason: "r" }));
    expect(problem.errors[0]?.detail).toBe('unknown field "reason"; allowed here: model, submission');
    expect((await refused("/v1/resume", post([]))).problem.detail).toContain("{ model?, submission? }");
  });

  it("refuses a body that is not JSON, and a submission that is not there", async () => {
    const notJson = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expect((await refused("/v1/pause", notJson)).problem.type).toBe("/problems/not-json");
    const wrongType = { method: "POST", body: "{}", headers: { "content-type": "text/plain" } };
    expect((await refused("/v1/pause", wrongType)).response.status).toBe(415);
    const unknown = "sub_01999999-0000-7000-8000-000000000000";
    expect((await refused("/v1/pause", post({ submission: unknown }))).response.status).toBe(404);
  });

  it("by a limited key is of its own submissions only", async () => {
    const { submission: mine } = await recorded([{ id: "a" }], { collection: "mine" });
    const { submission: other } = await recorded([{ id: "b" }]);
    expect((await refused("/v1/pause", post(), await limited())).response.status).toBe(403);
    expect((await refused("/v1/pause", post({ model: MODEL }), await limited())).response.status).toBe(403);
    expect((await refused("/v1/pause", post({ submission: other }), await limited())).response.status).toBe(404);
    expect(await ask("/v1/pause", post({ submission: mine }), await limited())).toMatchObject({
      data: [{ reason: "requested" }],
    });
  });
});

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
      usage: { tokens: 0, jobs: 0, unconfirmed_dispatches: 0, repeated_dispatches: 0 },
    });
  });

  it("name the stand-in that scores where there is one", async () => {
    expect(await ask("/v1/stats", {}, await testApi({ scorer: "lexical" }))).toMatchObject({ scorer: "lexical" });
  });

  it("count documents by lane and state, failures by code, and what it took; folding changes none of it", async () => {
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

  it("count a submission that was set aside once it has ended", async () => {
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

  it("count a document once that took two jobs, in the throughput too", async () => {
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

  it("tell old throughput from new", async () => {
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

  it("are not for keys that are limited to collections", async () => {
    expect((await refused("/v1/stats", {}, await limited())).response.status).toBe(403);
  });
});

describe("/readyz", () => {
  const open = { headers: { authorization: "" } };

  it("wants no key, and is 503 until the poller has run", async () => {
    const { response, problem } = await refused("/readyz", open);
    expect([response.status, problem.type, problem.detail]).toEqual([
      503,
      "/problems/unavailable",
      "The poller has never run.",
    ]);
    await poller(NOW);
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
  });

  it.each([
    ["TABLE", "pauses"],
    ["TABLE", "heartbeats"],
    ["TABLE", "staged_parts"],
    ["VIEW", "best"],
  ])("is 503 with the reason when the database lacks the %s %s", async (kind, name) => {
    await poller(NOW);
    await env.DB.prepare(`DROP ${kind} ${name}`).run();
    const { response, problem } = await refused("/readyz", open);
    expect([response.status, problem.type, problem.detail]).toEqual([
      503,
      "/problems/unavailable",
      `The database lacks ${name}. Apply the migrations: wrangler d1 migrations apply.`,
    ]);
  });

  it("is 503 when the poller has not run for five minutes", async () => {
    await poller(NOW - 5 * MINUTE);
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
    const later = await testApi({ now: () => NOW + 1 });
    expect((await refused("/readyz", open, later)).problem.detail).toBe("The poller has not run for 5 minutes.");
  });

  it("is 503 when a model is stopped by a fault of the account, and not for the daily limit or a request", async () => {
    await poller(NOW);
    const pause = { scope: `model:${MODEL}`, message: "10000: Authentication error", since: NOW, until: NOW + MINUTE };
    await pauseDispatching(db(), { ...pause, reason: "daily_limit" });
    await ask("/v1/pause", post());
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
    await pauseDispatching(db(), { ...pause, reason: "configuration" });
    const { problem } = await refused("/readyz", open);
    expect(problem.detail).toContain(`${MODEL} is stopped: Workers AI refuses the account or the model.`);
    // What the service said is for those with a key.
    expect(JSON.stringify(problem)).not.toContain("10000");
  });
});
