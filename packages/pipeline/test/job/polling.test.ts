import { MAX_ISOLATE_BYTES } from "../../src/platform/memory.ts";
import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import {
  asStream,
  counters,
  documents,
  expectedScores,
  NOW,
  onlyJob,
  recordJob,
  reversed,
  rows,
  RUN,
  scoresInView,
  shuffled,
} from "../../test-support/index.ts";
import { nextRun, runPoller } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const MINUTE = 60_000;

describe("a batch in progress", () => {
  it("is polled by every run, which changes only its next poll", async () => {
    const { submission } = await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
    service.pendingPolls = 3;
    await runPoller(context);
    const before = await rows(env.DB, "SELECT * FROM jobs");
    const submissionBefore = await rows(env.DB, "SELECT * FROM submissions");
    for (let run = 1; run <= 3; run += 1) {
      await nextRun(context);
      expect(await rows(env.DB, "SELECT * FROM jobs")).toEqual([{ ...before[0], due_at: context.clock.now + RUN / 2 }]);
      expect(service.polls).toHaveLength(run);
    }
    expect(await rows(env.DB, "SELECT * FROM submissions")).toEqual(submissionBefore);
    await nextRun(context);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 2, completed: true });
    expect(service.submits).toHaveLength(1);
  });

  it.each([
    { age: 9, wait: 0.5 },
    { age: 20, wait: 2 },
    { age: 50, wait: 5 },
  ])("is due again after a tenth of its age, at least at the next run: $age minutes", async ({ age, wait }) => {
    await recordJob(context.db, documents("d", 1), { now: NOW, dueAt: NOW });
    service.pendingPolls = Infinity;
    await runPoller(context);
    context.clock.now += age * MINUTE;
    await runPoller(context);
    expect((await onlyJob(env.DB)).dueAt).toBe(context.clock.now + wait * MINUTE);
  });

  it.each([
    { how: "is out of capacity", poll: () => Promise.reject(new Error("3040: Capacity")) },
    { how: "refuses the account", poll: () => Promise.reject(new Error("10000: Authentication error")) },
    { how: "has no neurons left today", poll: () => Promise.reject(new Error("3036: daily allocation")) },
    { how: "answers with an HTML page", poll: () => Promise.reject(new Error("<html><title>502</title></html>")) },
    { how: "answers with an unknown object", poll: () => ({ hello: "world" }) },
    { how: "answers with null", poll: () => null },
  ])("is polled again when a poll fails: the service $how", async ({ poll }) => {
    const { submission } = await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
    await runPoller(context);
    service.onPoll = poll;
    await nextRun(context);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 1,
      requestId: "batch-1",
      dueAt: context.clock.now + RUN / 2,
    });
    service.onPoll = null;
    await nextRun(context);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 2, completed: true });
    expect(service.submits).toHaveLength(1);
  });
});

describe("a poll", () => {
  it("holds memory only during its run, with or without an answer", async () => {
    await recordJob(context.db, documents("d", 2), { now: NOW, dueAt: NOW });
    service.pendingPolls = 1;
    await runPoller(context);
    for (let run = 1; run <= 2; run += 1) {
      let during = MAX_ISOLATE_BYTES;
      service.onPoll = () => {
        during = context.memory.free(context.clock.now);
        return undefined;
      };
      await nextRun(context);
      expect(during).toBeLessThan(MAX_ISOLATE_BYTES);
      expect(context.memory.free(context.clock.now)).toBe(MAX_ISOLATE_BYTES);
    }
    expect(await onlyJob(env.DB)).toMatchObject({ status: "succeeded" });
  });

  it("requests the job's batch from the job's model", async () => {
    for (const name of ["a", "b"]) await recordJob(context.db, documents(name, 1), { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET model = '@cf/other/' || (members LIKE '%"a0"%')`);
    await runPoller(context);
    const models = service.submits.map(({ model }) => model);
    expect(models.toSorted()).toEqual(["@cf/other/0", "@cf/other/1"]);
    await nextRun(context);
    expect(service.polls).toEqual(
      expect.arrayContaining(models.map((model, index) => ({ kind: "poll", model, requestId: `batch-${index + 1}` }))),
    );
    expect(await scoresInView(env.DB)).toEqual(expectedScores([...documents("a", 1), ...documents("b", 1)]));
  });
});

describe("an answer", () => {
  const list = [1, 2, 3, 7].flatMap((contexts) => documents(`c${contexts}-`, 10, contexts));
  const named = list.map((one, index) =>
    index % 3 === 0 ? { ...one, contextIds: one.contexts.map((_, contextIndex) => `${one.id}/${contextIndex}`) } : one,
  );

  const orders = { "in order": (items: readonly never[]) => items, reversed, shuffled };
  const forms = {
    whole: (answer: object): unknown => answer,
    "as a stream": asStream,
    "as text": (answer: object): unknown => JSON.stringify(answer),
    "under result": (answer: object): unknown => ({ result: answer, success: true }),
  };
  const cases = (["A", "B"] as const).flatMap((shape) =>
    (Object.keys(orders) as (keyof typeof orders)[]).flatMap((order) =>
      (Object.keys(forms) as (keyof typeof forms)[]).map((form) => ({ shape, order, form })),
    ),
  );

  it.each(cases)("stores each context's own score: shape $shape, $order, $form", async ({ shape, order, form }) => {
    const { submission } = await recordJob(context.db, named, { now: NOW, dueAt: NOW });
    service.shape = shape;
    service.order = orders[order] as typeof service.order;
    service.encode = forms[form];
    await runPoller(context);
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(named));
    expect(await counters(env.DB, submission)).toEqual({
      total: 40,
      recorded: 40,
      succeeded: 40,
      failed: 0,
      canceled: 0,
      completed: true,
    });
    expect(await onlyJob(env.DB)).toMatchObject({ status: "succeeded", dispatchNumber: 1, dueAt: null, round: 1 });
    const [usage] = await rows(
      env.DB,
      "SELECT s.jobs, s.tokens, j.tokens AS ofJob FROM submissions s CROSS JOIN jobs j",
    );
    expect(usage).toEqual({ jobs: 1, tokens: shape === "A" ? 400 : 0, ofJob: shape === "A" ? 400 : null });
  });

  it("is matched by index if it has no references", async () => {
    await recordJob(context.db, named, { now: NOW, dueAt: NOW });
    service.order = shuffled;
    service.items = (item) => [{ ...item, external_reference: null }];
    await runPoller(context);
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(named));
  });

  it("has its tokens divided among the submissions of its job", async () => {
    const first = await recordJob(context.db, documents("a", 3), { now: NOW, dueAt: NOW });
    const second = await recordJob(context.db, documents("b", 1), { now: NOW, dueAt: NOW });
    await env.DB.batch([
      env.DB.prepare(
        `UPDATE jobs SET members = (SELECT json_group_array(json(value)) FROM jobs j, json_each(j.members)), document_count = 4 WHERE id = ?`,
      ).bind(first.job),
      env.DB.prepare("DELETE FROM jobs WHERE id = ?").bind(second.job),
    ]);
    await runPoller(context);
    await nextRun(context);
    expect(await counters(env.DB, first.submission)).toMatchObject({ succeeded: 3, completed: true });
    expect(await counters(env.DB, second.submission)).toMatchObject({ succeeded: 1, completed: true });
    expect(await scoresInView(env.DB)).toEqual(expectedScores([...documents("a", 3), ...documents("b", 1)]));
  });
});
