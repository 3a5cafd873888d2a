import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import type { RetryPolicy } from "@sluice/db";
import {
  counters,
  documents,
  jobs,
  NOW,
  onlyJob,
  open,
  part,
  rows,
  testContext,
  unreliableDatabase,
  type Fault,
} from "../../test-support/index.ts";
import { deliver, messageOf, type TestMessage } from "../../test-support/deliver.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

let submission: SubmissionId;
let messages: TestMessage[];
beforeEach(async () => {
  submission = await open(context.db, { total: 6 });
  messages = [0, 1].map((number) => messageOf(part(submission, number, documents(`p${number}-`, 3), number * 3)));
});

const ALL = ["p0-0", "p0-1", "p0-2", "p1-0", "p1-1", "p1-2"];
/** D1 calls of one delivery with two new messages. */
const CALLS = [
  "SELECT CASE WHEN s.id",
  "INSERT INTO parts",
  'from "pauses"',
  "dispatch_number = dispatch_number + 1",
  "'$[#-1].request_id'",
];
/** Retries after an error without waiting. */
const patient: RetryPolicy = { tries: 4, bounded: (call) => call(), rest: () => Promise.resolve() };

/** Delivers as the Queue does: if the handler throws, all messages are redelivered. */
async function tryDelivery(d1: D1Database): Promise<string[]> {
  try {
    return await deliver(testContext(d1, service), messages);
  } catch {
    return messages.map(() => "retry");
  }
}

async function expectRecordedOnce(): Promise<void> {
  expect(await counters(env.DB, submission)).toMatchObject({ total: 6, recorded: 6, succeeded: 0, failed: 0 });
  expect(await rows(env.DB, "SELECT document_id AS id FROM documents ORDER BY id")).toEqual(ALL.map((id) => ({ id })));
  const job = await onlyJob(env.DB);
  expect(job.documents).toEqual(ALL);
  expect(job.dispatchNumber).toBe(job.dispatches.length);
  expect(service.submits.length).toBeLessThanOrEqual(job.dispatchNumber);
  expect(job.dueAt).toBeLessThanOrEqual(NOW + DISPATCH_LEASE_MS);
}

describe("an error of D1", () => {
  it("is tried at every call of a delivery", async () => {
    const { d1, calls } = unreliableDatabase(env.DB);
    await deliver(testContext(d1, service), messages);
    expect(calls).toHaveLength(CALLS.length);
    for (const [index, call] of calls.entries()) expect(call.sql).toContain(CALLS[index]);
  });

  const faults = CALLS.flatMap((name, index) => [
    { name, call: index + 1, fault: "before" as const },
    { name, call: index + 1, fault: "after" as const },
  ]);

  it.each(faults)("neither loses nor repeats anything: $fault call $call, $name", async ({ call, fault }) => {
    const { d1 } = unreliableDatabase(env.DB, (number) => (number === call ? fault : null));
    await tryDelivery(d1);
    // In any case, the messages may be redelivered, to a D1 without faults.
    expect(await deliver(context, messages)).toEqual(["ack", "ack"]);
    await expectRecordedOnce();
  });

  it.each(faults)("is retried if it is transient: $fault call $call, $name", async ({ call, fault }) => {
    const { d1 } = unreliableDatabase(env.DB, (number) => (number === call ? fault : null));
    expect(await deliver(testContext(d1, service, { retryPolicy: patient }), messages)).toEqual(["ack", "ack"]);
    await expectRecordedOnce();
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 1,
      requestId: "batch-1",
      unconfirmed: 0,
    });
    expect(service.submits).toHaveLength(1);
  });

  it.each<{ fault: Fault; recorded: number }>([
    { fault: "before", recorded: 0 },
    { fault: "after", recorded: 6 },
  ])("in recording retries the messages: $fault its commit", async ({ fault, recorded }) => {
    const { d1 } = unreliableDatabase(env.DB, (_, sql) => (sql.includes("INSERT INTO parts") ? fault : null));
    expect(await tryDelivery(d1)).toEqual(["retry", "retry"]);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded });
    expect(service.calls).toEqual([]);
  });

  it("in recording one job leaves the messages of another alone", async () => {
    const interactive = await open(context.db, { total: 1, lane: "interactive" });
    const other = messageOf(part(interactive, 0, documents("i", 1)), { lane: "interactive" });
    let recordings = 0;
    const { d1 } = unreliableDatabase(env.DB, (_, sql) => {
      if (sql.includes("INSERT INTO parts")) recordings += 1;
      return recordings === 1 && sql.includes("INSERT INTO parts") ? "before" : null;
    });
    expect(await deliver(testContext(d1, service), [...messages, other])).toEqual(["retry", "retry", "ack"]);
    expect(await counters(env.DB, interactive)).toMatchObject({ recorded: 1 });
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 0 });
  });

  it("in quarantining a message retries it", async () => {
    const { d1 } = unreliableDatabase(env.DB, (_, sql) =>
      sql.includes('insert into "malformed_messages"') ? "before" : null,
    );
    await expect(deliver(testContext(d1, service), [{ id: "bad", body: "x" }])).rejects.toThrow();
  });
});

describe("a death of the Worker", () => {
  it("between recording and acknowledging changes nothing when the messages are redelivered", async () => {
    await deliver(context, messages);
    const before = await jobs(env.DB);
    expect(await deliver(context, messages)).toEqual(["ack", "ack"]);
    expect(await jobs(env.DB)).toEqual(before);
    await expectRecordedOnce();
    expect(service.submits).toHaveLength(1);
  });

  it("during the call leaves the dispatch and its list to the lease, without the messages", async () => {
    const called = Promise.withResolvers<void>();
    service.onSubmit = () => {
      called.resolve();
      return new Promise(() => undefined);
    };
    void deliver(context, messages);
    await called.promise;
    const left = await onlyJob(env.DB);
    expect(left).toMatchObject({
      status: "dispatching",
      dispatchNumber: 1,
      requestId: null,
      dueAt: NOW + DISPATCH_LEASE_MS,
      documents: ALL,
    });
    expect(await deliver(context, messages)).toEqual(["ack", "ack"]);
    expect(await onlyJob(env.DB)).toEqual(left);
    expect(service.calls).toHaveLength(1);
  });

  it("between recording and the dispatch leaves a pending job to the lease", async () => {
    const { d1 } = unreliableDatabase(env.DB, (_, sql) =>
      sql.includes("dispatch_number = dispatch_number + 1") ? "before" : null,
    );
    expect(await deliver(testContext(d1, service), messages)).toEqual(["ack", "ack"]);
    expect(service.calls).toEqual([]);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "pending",
      dispatchNumber: 0,
      dueAt: NOW + DISPATCH_LEASE_MS,
      documents: ALL,
    });
  });
});
