import { createExecutionContext, createMessageBatch, env, getQueueResult } from "cloudflare:test";
import {
  BatchService,
  bodyOf,
  counters,
  document,
  documents,
  onlyJob,
  open,
  part,
  rows,
  testContext,
  unreliableDatabase,
  type TestContext,
} from "@sluice/pipeline/test-support";
import { deliver, messageOf, QUEUE, type TestMessage } from "@sluice/pipeline/test-support/deliver.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../src/index.ts";

let service: BatchService;
let context: TestContext;
beforeEach(() => {
  service = new BatchService();
  context = testContext(env.DB, service);
});

interface QueueResult {
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string }[];
}

/** Calls the Worker as the Queue does. Returns the ids of acknowledged and retried messages. */
export async function queueDelivery(
  bindings: { readonly DB: D1Database; readonly AI: unknown },
  messages: readonly TestMessage[],
  queue = QUEUE,
) {
  const batch = createMessageBatch(
    queue,
    messages.map((message) => ({ attempts: 1, ...message, timestamp: new Date(0) })),
  );
  const context = createExecutionContext();
  await worker.queue(batch, { ...bindings, RUN_INTERVAL_SECONDS: "60" });
  const result: QueueResult = await getQueueResult(batch, context);
  return { acknowledged: result.explicitAcks, again: result.retryMessages.map(({ msgId }) => msgId) };
}

describe("the consumer", () => {
  let lines: unknown[];
  beforeEach(() => {
    lines = [];
    vi.spyOn(console, "log").mockImplementation((line) => void lines.push(line));
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("acknowledges recorded messages", async () => {
    const submission = await open(context.db, { total: 2 });
    const messages = [0, 1].map((number) => messageOf(part(submission, number, [document(`d${number}`)], number)));
    const { acknowledged, again } = await queueDelivery({ DB: env.DB, AI: service }, messages);
    expect(acknowledged).toEqual(messages.map(({ id }) => id));
    expect(again).toEqual([]);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", requestId: "batch-1" });
    expect(lines.map((line) => (JSON.parse(String(line)) as { event: string }).event)).toEqual([
      "job_dispatched",
      "delivery_consumed",
    ]);
  });

  it("retries messages that D1 did not store, and acknowledges the rest", async () => {
    const submission = await open(context.db, { total: 1 });
    const recorded = messageOf(part(submission, 0, [document("old")]));
    await deliver(context, [recorded]);
    const next = messageOf(part(await open(context.db, { total: 1 }), 0, [document("new")]));
    const { d1 } = unreliableDatabase(
      env.DB,
      (_, sql) => (sql.includes("INSERT INTO parts") ? "before" : null),
      "D1_ERROR: a permanent error",
    );
    const { acknowledged, again } = await queueDelivery({ DB: d1, AI: service }, [
      recorded,
      next,
      { id: "bad", body: "x" },
    ]);
    expect(acknowledged).toEqual([recorded.id, "bad"]);
    expect(again).toEqual([next.id]);
  });

  it("acknowledges an unreadable message and its neighbors", async () => {
    const submission = await open(context.db, { total: 1 });
    const messages = [{ id: "bad", body: { not: "a part" } }, messageOf(part(submission, 0, [document("d")]))];
    const { acknowledged, again } = await queueDelivery({ DB: env.DB, AI: service }, messages);
    expect(acknowledged).toEqual(messages.map(({ id }) => id));
    expect(again).toEqual([]);
  });

  it.each(["sluice-bulk-dead", "sluice-interactive-dead"])(
    "records valid messages of %s like any other",
    async (queue) => {
      const submission = await open(context.db, { total: 1 });
      const messages = [messageOf(part(submission, 0, [document("d")])), { id: "bad", body: "not JSON" }];
      const { acknowledged } = await queueDelivery({ DB: env.DB, AI: service }, messages, queue);
      expect(acknowledged).toEqual(messages.map(({ id }) => id));
      expect(await counters(env.DB, submission)).toMatchObject({ total: 1, recorded: 1 });
      expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", documents: ["d"] });
      expect(await rows(env.DB, "SELECT queue, message_id FROM malformed_messages")).toEqual([
        { queue, message_id: "bad" },
      ]);
    },
  );

  it("dispatches the jobs that it recorded, for any queue name", async () => {
    const submission = await open(context.db, { total: 1 });
    const message = messageOf(part(submission, 0, [document("d")]));
    await queueDelivery({ DB: env.DB, AI: service }, [message], QUEUE);
    await queueDelivery({ DB: env.DB, AI: service }, [message], `${QUEUE}-dead`);
    expect(service.submits).toHaveLength(1);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 1, recorded: 1 });
  });

  it("retries messages that D1 refuses after a delay", async () => {
    const submission = await open(context.db, { total: 2 });
    const refused = { id: "bad", attempts: 2, body: bodyOf(part(submission, 0, documents("a", 3))) };
    const retried: unknown[] = [];
    const message = { ...refused, timestamp: new Date(0), ack: () => retried.push("ack") };
    const batch = { queue: QUEUE, messages: [{ ...message, retry: (options: unknown) => retried.push(options) }] };
    await worker.queue(batch as unknown as MessageBatch, { DB: env.DB, AI: service, RUN_INTERVAL_SECONDS: "60" });
    expect(retried).toEqual([{ delaySeconds: 60 }]);
  });
});
