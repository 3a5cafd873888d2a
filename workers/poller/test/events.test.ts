import { createExecutionContext, createMessageBatch, env, getQueueResult } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BatchService } from "@sluice/dispatch/test-support";
import worker from "../src/index.ts";

interface QueueResult {
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string }[];
}

/** The Worker as the queue `sluice-events` calls it: the ids of the messages that it acknowledged and retried. */
async function deliverEvents(service: BatchService, bodies: readonly unknown[]) {
  const messages = bodies.map((body, n) => ({ id: `m${n}`, body, attempts: 1, timestamp: new Date(0) }));
  const batch = createMessageBatch("sluice-events", messages);
  const context = createExecutionContext();
  await worker.queue(batch, {
    DB: env.DB,
    AI: service,
    RUN_INTERVAL_SECONDS: "60",
    STUCK_AFTER_MINUTES: "60",
    EVENTS: env.EVENTS,
  });
  const result: QueueResult = await getQueueResult(batch, context);
  return { acknowledged: result.explicitAcks, retried: result.retryMessages.map(({ msgId }) => msgId) };
}

describe("a delivery of the events queue", () => {
  beforeEach(() => {
    vi.spyOn(console, "log").mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("is acknowledged where it holds nothing to do", async () => {
    const service = new BatchService();
    const bodies = ["not JSON", { type: "cf.workersAi.model.batch.queued" }, { kind: "continue_run", token: "stale" }];
    expect(await deliverEvents(service, bodies)).toEqual({ acknowledged: ["m0", "m1", "m2"], retried: [] });
    expect(service.calls).toEqual([]);
  });
});
