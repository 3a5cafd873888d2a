import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  onlyJob,
  recordJob,
  RUN,
  scoresInView,
  testContext,
  unreliableDatabase,
} from "../../test-support/index.ts";
import { consumeEvents } from "../../src/job/consume-events.ts";
import { nextRun, runPoller } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const SECOND = 1_000;

/** Creates an event in the form of a subscription. */
function ended(requestId: string, how: "succeeded" | "failed" = "succeeded") {
  return {
    type: `cf.workersAi.model.batch.${how}`,
    source: { type: "workersAi.model", modelName: "@cf/baai/bge-m3" },
    payload: { requestId },
    metadata: { eventSchemaVersion: 1 },
  };
}

/** Delivers these bodies together. Returns the decision about each. */
async function consume(bodies: readonly unknown[], delivery = 1, by = context) {
  const messages = bodies.map((body, n) => ({ id: `m${n}`, body, attempts: delivery }));
  const decisions = await consumeEvents(by, messages);
  return messages.map(({ id }) => decisions.get(id));
}

/** Records jobs of one document each and dispatches them: `batch-1`, `batch-2`, … */
async function dispatched(names: readonly string[]) {
  const recorded = [];
  for (const name of names) recorded.push(await recordJob(context.db, documents(name, 1), { now: NOW, dueAt: NOW }));
  // Dispatched before, so that they are not merged.
  await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
  await runPoller(context);
  context.clock.now += 5 * SECOND;
  return recorded;
}

const ACK = { kind: "ack" };

describe("an event that reports the end of a batch", () => {
  it("has its scores stored immediately, without a poller run", async () => {
    const [{ submission } = { submission: null }] = await dispatched(["a"]);
    expect(await consume([ended("batch-1")])).toEqual([ACK]);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(documents("a", 1)));
    expect(submission && (await counters(env.DB, submission))).toMatchObject({ succeeded: 1, completed: true });
  });

  it("shares one claim with the others of its delivery", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `d${n}-`);
    await dispatched(names);
    const { d1, calls } = unreliableDatabase(env.DB);
    const by = { ...testContext(d1, service), now: context.now };
    const decisions = await consume(
      names.map((_, n) => ended(`batch-${n + 1}`)),
      1,
      by,
    );
    expect(decisions).toEqual(names.map(() => ACK));
    expect(calls.filter(({ sql }) => sql.includes("INDEXED BY jobs_request"))).toHaveLength(1);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(names.flatMap((name) => documents(name, 1))));
  });

  it("leads to one poll, however often its delivery repeats it", async () => {
    await dispatched(["a"]);
    service.pendingPolls = Infinity;
    expect(await consume([ended("batch-1"), ended("batch-1"), ended("batch-1", "failed")])).toEqual([ACK, ACK, ACK]);
    expect(service.polls).toHaveLength(1);
  });

  it("moves the next poll, so the next run finds nothing to do", async () => {
    await dispatched(["a"]);
    service.pendingPolls = 1;
    context.clock.now = NOW + RUN;
    await consume([ended("batch-1")]);
    await runPoller(context);
    expect(service.polls).toHaveLength(1);
    await nextRun(context);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "succeeded" });
  });

  it("redispatches a failed batch, counted, without waiting for its next poll", async () => {
    await dispatched(["a"]);
    service.forget();
    expect(await consume([ended("batch-1", "failed")])).toEqual([ACK]);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "pending", repeated: 1, dueAt: context.clock.now });
  });

  it("leaves the jobs of other batches alone, and one whose poll fails to its next run", async () => {
    await dispatched(["a", "b", "c"]);
    const before = await jobs(env.DB);
    service.onPoll = ({ requestId }) =>
      requestId === "batch-1" ? Promise.reject(new Error("3040: Capacity temporarily exceeded")) : undefined;
    await consume([ended("batch-1"), ended("batch-2")]);
    const after = await jobs(env.DB);
    expect(after.map(({ status }) => status).toSorted()).toEqual(["dispatched", "dispatched", "succeeded"]);
    const failed = after.find(({ requestId, status }) => requestId === "batch-1" && status === "dispatched");
    expect(failed?.dueAt).toBe(context.clock.now + RUN / 2);
    const unnamed = before.find(({ requestId }) => requestId === "batch-3");
    expect(after.find(({ id }) => id === unnamed?.id)).toEqual(unnamed);
  });
});

describe("an event whose batch belongs to no open job", () => {
  it.each([
    { delivery: 1, decision: { kind: "retry", delaySeconds: 2 } },
    { delivery: 2, decision: { kind: "retry", delaySeconds: 10 } },
    { delivery: 3, decision: ACK },
    { delivery: 4, decision: ACK },
  ])("is retried twice with a delay, then acknowledged: delivery $delivery", async ({ delivery, decision }) => {
    await dispatched(["a"]);
    const before = await onlyJob(env.DB);
    expect(await consume([ended("foreign")], delivery)).toEqual([decision]);
    expect(service.polls).toEqual([]);
    expect(await onlyJob(env.DB)).toEqual(before);
  });

  it("finds its job when it is redelivered, if it arrived before the request_id was recorded", async () => {
    const early = [ended("batch-1")];
    expect(await consume(early)).toMatchObject([{ kind: "retry" }]);
    await dispatched(["a"]);
    expect(await consume(early, 2)).toEqual([ACK]);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(documents("a", 1)));
  });

  it("is not applied if the batch belongs to an older dispatch", async () => {
    await dispatched(["a"]);
    service.onPoll = () => Promise.reject(new Error("3042: not found"));
    await nextRun(context);
    service.onPoll = null;
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 3, requestId: "batch-2" });
    const polls = service.polls.length;
    expect(await consume([ended("batch-1")], 3)).toEqual([ACK]);
    expect(service.polls).toHaveLength(polls);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", dispatchNumber: 3 });
  });

  it("changes nothing if the job has ended", async () => {
    await dispatched(["a"]);
    await consume([ended("batch-1")]);
    const before = await jobs(env.DB);
    expect(await consume([ended("batch-1")], 3)).toEqual([ACK]);
    expect(await jobs(env.DB)).toEqual(before);
    expect(service.polls).toHaveLength(1);
  });
});
