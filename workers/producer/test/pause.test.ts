import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { holdPausedJobs } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { describe, expect, it } from "vitest";
import { claimLimits, dispatch, MODEL } from "@sluice/pipeline/test-support/fixtures.ts";
import type { PauseShape } from "../src/shapes/pause.ts";
import { NOW, type TestApi } from "./api.ts";
import { ask, at, db, ids, limited, post, recorded, refused } from "./stored.ts";

const MINUTE = 60_000;
const pausesOf = async (path: string, body?: unknown) => (await ask<{ data: PauseShape[] }>(path, post(body))).data;
const poller = async (now: number) => (await claimAtStart(db(), claimLimits(now), now, now - MINUTE)).jobs;

describe("pausing", () => {
  it("stops everything, a model or a submission, and lists the pauses in force", async () => {
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

  it("treats an empty body of any type as everything", async () => {
    const body = new Blob([]).stream();
    const { data } = await ask<{ data: PauseShape[] }>("/v1/pause", { method: "POST", body });
    expect(data.map((one) => one.scope)).toEqual(["all"]);
  });

  it("is shown by everything that waits for it, and ends when it is resumed", async () => {
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
  ])("of %s is shown as such, and jobs that it holds are not polled", async (_, body, reason) => {
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

  it("changes nothing for jobs that Workers AI has already", async () => {
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

  it("and resuming accept the fields that a refusal lists", async () => {
    const { problem } = await refused("/v1/resume", post({ reason: "r" }));
    expect(problem.errors[0]?.detail).toBe('unknown field "reason"; allowed here: model, submission');
    expect((await refused("/v1/resume", post([]))).problem.detail).toContain("{ model?, submission? }");
  });

  it("refuses a body that is not JSON, and an unknown submission", async () => {
    const notJson = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expect((await refused("/v1/pause", notJson)).problem.type).toBe("/problems/not-json");
    const wrongType = { method: "POST", body: "{}", headers: { "content-type": "text/plain" } };
    expect((await refused("/v1/pause", wrongType)).response.status).toBe(415);
    const unknown = "sub_01999999-0000-7000-8000-000000000000";
    expect((await refused("/v1/pause", post({ submission: unknown }))).response.status).toBe(404);
  });

  it("is allowed to a limited key for its own submissions only", async () => {
    const { submission: mine } = await recorded([{ id: "a" }], { collection: "mine" });
    const { submission: other } = await recorded([{ id: "b" }]);
    expect((await refused("/v1/pause", post(), await limited())).response.status).toBe(403);
    expect((await refused("/v1/pause", post({ model: MODEL }), await limited())).response.status).toBe(403);
    expect((await refused("/v1/pause", post({ submission: other }), await limited())).response.status).toBe(404);
    expect(await ask("/v1/pause", post({ submission: mine }), await limited())).toMatchObject({
      data: [{ reason: "requested" }],
    });
  });

  it("shows a limited key no pause of another collection's submission", async () => {
    const { submission: mine } = await recorded([{ id: "a" }], { collection: "mine" });
    const { submission: other } = await recorded([{ id: "b" }]);
    const scopes = async (path: string, submission: string, api?: TestApi) =>
      (await ask<{ data: PauseShape[] }>(path, post({ submission }), api)).data.map(({ scope }) => scope).toSorted();
    const model = `model:${MODEL}`;
    await pausesOf("/v1/pause", { model: MODEL });
    expect(await scopes("/v1/pause", other)).toEqual([model, `submission:${other}`]);
    expect(await scopes("/v1/pause", mine, await limited())).toEqual([model, `submission:${mine}`]);
    expect(await scopes("/v1/resume", mine, await limited())).toEqual([model]);
    expect(await scopes("/v1/resume", mine)).toEqual([model, `submission:${other}`]);
  });
});
