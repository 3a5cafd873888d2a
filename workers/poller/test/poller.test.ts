import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  env,
  getQueueResult,
} from "cloudflare:test";
import {
  BatchService,
  documents,
  onlyJob,
  recordJob,
  testContext,
  unreliableDatabase,
  type TestContext,
} from "@sluice/pipeline/test-support";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../src/index.ts";

const RETENTION = { RETAIN_TEXTS_DAYS: "7", RETAIN_HISTORY_DAYS: "30", RETAIN_SCORES_DAYS: "" };

let service: BatchService;
let context: TestContext;
beforeEach(() => {
  service = new BatchService();
  context = testContext(env.DB, service);
});

/** Creates an event in the form of a subscription. */
function ended(requestId: string, how: "succeeded" | "failed" = "succeeded") {
  return {
    type: `cf.workersAi.model.batch.${how}`,
    source: { type: "workersAi.model", modelName: "@cf/baai/bge-m3" },
    payload: { requestId },
    metadata: { eventSchemaVersion: 1 },
  };
}

interface QueueResult {
  readonly explicitAcks: readonly string[];
  readonly retryMessages: readonly { readonly msgId: string }[];
}

/** Calls the Worker as the queue `sluice-events` does. Returns the ids of acknowledged and retried messages. */
async function deliver(bodies: readonly unknown[], d1 = env.DB) {
  const messages = bodies.map((body, n) => ({ id: `m${n}`, body, attempts: 1, timestamp: new Date(0) }));
  const batch = createMessageBatch("sluice-events", messages);
  const context = createExecutionContext();
  await worker.queue(batch, {
    DB: d1,
    AI: service,
    RUN_INTERVAL_SECONDS: "60",
    STUCK_AFTER_MINUTES: "60",
    ...RETENTION,
    MAX_DATABASE_BYTES: "9500000000",
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

  it("acknowledges events without effect, and retries unknown ones", async () => {
    const bodies = ["not JSON", { type: "cf.workersAi.model.batch.queued" }, ended("foreign")];
    expect(await deliver(bodies)).toEqual({ acknowledged: ["m0", "m1"], retried: ["m2"] });
    expect(service.calls).toEqual([]);
  });

  it("fails as a whole if D1 refuses the claim, so that all of it is retried", async () => {
    const { d1 } = unreliableDatabase(env.DB, () => "before", "D1_ERROR: no such table: jobs");
    await expect(deliver([ended("batch-1"), "not JSON"], d1)).rejects.toThrow("events_broke_off");
  });
});

describe("the poller", () => {
  let lines: string[];
  beforeEach(() => {
    lines = [];
    vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("processes due jobs when its cron fires", async () => {
    const now = Date.now();
    await recordJob(context.db, documents("d", 2), { now, dueAt: now });
    await worker.scheduled(createScheduledController(), {
      DB: env.DB,
      AI: service,
      RUN_INTERVAL_SECONDS: "60",
      STUCK_AFTER_MINUTES: "60",
      ...RETENTION,
      MAX_DATABASE_BYTES: "9500000000",
      EVENTS: env.EVENTS,
    });
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      requestId: "batch-1",
      documents: ["d0", "d1"],
    });
    const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events).toEqual(["job_dispatched", "poller_run"]);
  });
});
