import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { planEvents, type BatchEvent } from "../src/batch-events.ts";
import { ledger } from "../src/create-run-context.ts";
import { parsePlan } from "../src/plan.ts";
import { makeRequests, makeStandIn, MODEL } from "./stand-in.ts";

/** The messages that the stand-in sends to the queue, in order, as `STATE BATCH`. */
class SentEvents {
  readonly all: BatchEvent[] = [];
  #waiting: (() => void)[] = [];

  get names(): string[] {
    return this.all.map(({ type, payload }) => `${type.split(".").at(-1)} ${payload.requestId}`);
  }

  sendBatch = async (messages: Iterable<MessageSendRequest<BatchEvent>>): Promise<void> => {
    for (const { body } of messages) this.all.push(body);
    for (const wake of this.#waiting.splice(0)) wake();
  };

  async until(count: number): Promise<string[]> {
    while (this.all.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.names;
  }
}

let senders = 0;
/** A stand-in that reports its batches through its own sender. */
async function withEvents(plan: unknown) {
  senders += 1;
  const sent = new SentEvents();
  const stub = env.EVENT_SENDER.getByName(`sender-${senders}`);
  await runInDurableObject(stub, (sender) => {
    Object.defineProperty(sender, "env", { value: { ...env, EVENTS: sent } });
  });
  const standIn = makeStandIn({ now: Date.now, ledger, watch: (requestId) => stub.watch(requestId) });
  await standIn.setPlan(plan);
  return { sent, standIn, submit: () => standIn.submit(makeRequests(1)) };
}

beforeEach(() => {
  ledger.calls.submit.taken = 0;
});

test("a batch is reported as queued, and as succeeded once a poll has its answer", async () => {
  const { sent, standIn, submit } = await withEvents({});
  const id = await submit();
  expect(await sent.until(2)).toEqual([`queued ${id}`, `succeeded ${id}`]);
  expect(await standIn.poll(id)).toHaveProperty("responses");
  expect(sent.all[1]).toEqual({
    type: "cf.workersAi.model.batch.succeeded",
    source: { type: "workersAi.model", modelName: "@cf/baai/bge-m3" },
    payload: { requestId: id },
    metadata: {
      accountId: "local",
      eventSubscriptionId: "local",
      eventSchemaVersion: 1,
      eventTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    },
  });
});

test("a batch is reported when its time is over, not before", async () => {
  const { sent, standIn, submit } = await withEvents({ queued_ms: 20, running_ms: 30 });
  const before = Date.now();
  const id = await submit();
  expect(await sent.until(2)).toEqual([`queued ${id}`, `succeeded ${id}`]);
  expect(Date.now() - before).toBeGreaterThanOrEqual(50);
  expect(await standIn.poll(id)).toHaveProperty("responses");
});

test("a failed batch is reported as failed, a stuck one is not reported", async () => {
  const { sent, submit } = await withEvents({
    poll: [
      { fault: "failed", batches: [1] },
      { fault: "stuck", batches: [2] },
    ],
  });
  const [failed, stuck, fine] = [await submit(), await submit(), await submit()];
  expect((await sent.until(5)).toSorted()).toEqual(
    [`failed ${failed}`, `queued ${failed}`, `queued ${stuck}`, `queued ${fine}`, `succeeded ${fine}`].toSorted(),
  );
});

test("an event can be lost or repeated, depending on its state", async () => {
  const { sent, submit } = await withEvents({
    events: [
      { fault: "lost", types: ["queued"] },
      { fault: "lost", batches: [1] },
      { fault: "repeated", types: ["succeeded"] },
    ],
  });
  const [, second] = [await submit(), await submit()];
  expect(await sent.until(2)).toEqual([`succeeded ${second}`, `succeeded ${second}`]);
});

test("an event can be delayed", async () => {
  const { sent, submit } = await withEvents({
    events: [
      { fault: "lost", types: ["queued"] },
      { fault: "delayed", delay_ms: 60 },
    ],
  });
  const before = Date.now();
  await submit();
  await sent.until(1);
  expect(Date.now() - before).toBeGreaterThanOrEqual(60);
});

test("an event can be overtaken by the next one", async () => {
  const { sent, submit } = await withEvents({
    events: [
      { fault: "lost", types: ["queued"] },
      { fault: "reordered", batches: [1], delay_ms: 600_000 },
    ],
  });
  const [first, second] = [await submit(), await submit()];
  expect(await sent.until(2)).toEqual([`succeeded ${second}`, `succeeded ${first}`]);
});

test("the same seed loses the same events of the same batches", () => {
  const parsed = parsePlan({ seed: "s", events: [{ fault: "lost", probability: 0.5 }] });
  if (!("plan" in parsed)) throw new Error(parsed.problem);
  const kept = () =>
    Array.from(
      { length: 20 },
      (_, n) => planEvents(parsed.plan, `request-${n}`, { model: MODEL, number: n }, "succeeded", 0).length,
    );
  expect(new Set(kept())).toEqual(new Set([0, 1]));
  expect(kept()).toEqual(kept());
});
