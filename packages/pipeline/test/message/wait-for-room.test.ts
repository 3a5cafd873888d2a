import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import configuration from "../../../../workers/consumer/wrangler.jsonc?raw";
import { MemoryLimit } from "../../src/platform/memory.ts";
import { stagedBody } from "../../src/message/message.ts";
import { waitForRoom } from "../../src/message/wait-for-room.ts";
import { recordDatabaseSize } from "../../src/platform/sql/database-size.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { decide, deliver, messageOf, QUEUE } from "../../test-support/deliver.ts";
import { open, part } from "../../test-support/fixtures.ts";
import { fullDatabase, unsizedDatabase } from "../../test-support/full-database.ts";
import { BatchService, impatient, jobs, NOW, RUN, testContext } from "../../test-support/index.ts";

const DAY_SECONDS = 24 * 3_600;
/** What a queue keeps a message for, as `deploy:cloudflare` creates it. */
const RETENTION_SECONDS = 4 * DAY_SECONDS;
const LIMIT = 1_000_000_000;

let service: BatchService;
beforeEach(() => {
  service = new BatchService();
});

/** Seconds from the first delivery of a message to its last in a queue with this many retries, if each waits for room. */
function outlastsSeconds(maxRetries: number, runInterval: number): number {
  let seconds = 0;
  for (let delivery = 1; delivery <= maxRetries; delivery += 1) seconds += waitForRoom(delivery, runInterval);
  return seconds;
}

const record = (share: number) =>
  recordDatabaseSize(openDatabase(env.DB, impatient), { bytes: share * LIMIT, limit: LIMIT }, NOW);
const kept = async () => (await env.DB.prepare("SELECT reason FROM malformed_messages").all()).results;

/** The limits of the deployed queues: first those of the lanes, then their dead-letter queues. */
const maxRetries = Array.from(configuration.matchAll(/"max_retries": (\d+)/g), ([, retries]) => Number(retries));

describe("the waits of a message for room", () => {
  it("double from half a run of the poller to 90 runs", () => {
    expect([1, 2, 3, 8, 9, 100].map((delivery) => waitForRoom(delivery, RUN))).toEqual([
      30, 60, 120, 3_840, 5_400, 5_400,
    ]);
  });

  it("outlast the retention of both queues together, and leave the first one before it drops the message", () => {
    const [interactive = 0, bulk = 0, ...dead] = maxRetries;
    expect(dead).toHaveLength(2);
    for (const first of [interactive, bulk])
      for (const last of dead) {
        // A day for the wait before the first delivery.
        expect(outlastsSeconds(first, RUN)).toBeLessThan(RETENTION_SECONDS - DAY_SECONDS);
        expect(outlastsSeconds(last, RUN)).toBeGreaterThan(RETENTION_SECONDS);
        expect(outlastsSeconds(first, RUN) + outlastsSeconds(last, RUN)).toBeGreaterThan(2 * RETENTION_SECONDS);
      }
  });
});

describe("a delivery while the database is full", () => {
  it("waits longer with each delivery, and records nothing", async () => {
    const context = testContext(env.DB, service);
    const submission = await open(context.db, { total: 4 });
    const { body } = part(submission, 1, [{}], 1);
    await stagePart(context.db, submission, { part: 1, body, total: 4 }, NOW);
    await record(0.95);
    // The size of this small database is not what the record says: without a reported size the level counts.
    const blind = testContext(unsizedDatabase(env.DB), service);
    const messages = [
      messageOf(part(submission, 0, [{}])),
      { ...messageOf(part(submission, 2, [{}, {}], 2)), attempts: 5 },
      { id: "staged", body: stagedBody({ submission, lane: "bulk" }, 1), attempts: 100 },
    ];
    const decisions = await decide(blind, messages);
    expect([...decisions.values()]).toEqual([30, 480, 5_400].map((delaySeconds) => ({ kind: "retry", delaySeconds })));
    expect([await jobs(env.DB), await kept(), service.calls]).toEqual([[], [], []]);
    expect(blind.events.at(-1)).toMatchObject({ event: "delivery_consumed", waiting_for_room: 3 });

    await record(0.89);
    expect(await deliver(blind, messages)).toEqual(["ack", "ack", "ack"]);
  });

  it("is recorded as soon as D1 reports a smaller size, before the level is recorded", async () => {
    const context = testContext(env.DB, service);
    const submission = await open(context.db);
    await record(0.96);
    expect(await deliver(context, [messageOf(part(submission, 0, [{}]))])).toEqual(["ack"]);
  });

  it("waits as soon as D1 reports a larger size, before the level is recorded", async () => {
    const context = testContext(env.DB, service);
    const submission = await open(context.db);
    const { meta } = await env.DB.prepare("SELECT 1").all();
    await recordDatabaseSize(context.db, { bytes: 1, limit: meta.size_after }, NOW);
    expect(await deliver(context, [messageOf(part(submission, 0, [{}]))])).toEqual(["retry"]);
  });

  it("acknowledges what is recorded already", async () => {
    const context = testContext(unsizedDatabase(env.DB), service);
    const submission = await open(context.db);
    const message = messageOf(part(submission, 0, [{}]));
    expect(await deliver(context, [message])).toEqual(["ack"]);
    await record(0.96);
    expect(await deliver(context, [message])).toEqual(["ack"]);
  });
});

describe("a delivery while D1 refuses writes because the database is full", () => {
  it("waits, and quarantines nothing, at its hundredth delivery too", async () => {
    const state = { isFull: true };
    const { d1, refused } = fullDatabase(env.DB, () => state.isFull);
    const context = testContext(d1, service);
    const submission = await open(openDatabase(env.DB, impatient), { total: 2 });
    const messages = [0, 1].map((number) => ({ ...messageOf(part(submission, number, [{}], number)), attempts: 100 }));
    const malformed = { id: "malformed", body: "no JSON" };
    const decisions = await decide(context, [...messages, malformed], QUEUE);
    expect([...decisions.values()]).toEqual([
      { kind: "retry", delaySeconds: 30 },
      { kind: "retry", delaySeconds: 5_400 },
      { kind: "retry", delaySeconds: 5_400 },
    ]);
    // The job is not tried again part by part.
    expect(refused).toHaveLength(2);
    expect([await kept(), service.calls]).toEqual([[], []]);
    state.isFull = false;
    expect(await deliver(context, [...messages, malformed])).toEqual(["ack", "ack", "ack"]);
    expect(await kept()).toHaveLength(1);
  });

  it("keeps a recorded job that it could not dispatch for the poller", async () => {
    const state = { isFull: false };
    const { d1 } = fullDatabase(env.DB, () => state.isFull);
    const context = testContext(d1, service);
    const submission = await open(context.db);
    const memory = new MemoryLimit();
    // The first step of a dispatch.
    memory.hold = () => {
      state.isFull = true;
      return () => undefined;
    };
    const decisions = await decide({ ...context, memory }, [messageOf(part(submission, 0, [{}]))]);
    expect([...decisions.values()]).toEqual([{ kind: "ack" }]);
    expect(await jobs(env.DB)).toMatchObject([{ status: "pending" }]);
    expect(service.calls).toEqual([]);
  });
});
