import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import { readStagedPart, stagePart } from "../../src/message/sql/stage-parts.ts";
import {
  counters,
  document,
  documents,
  jobs,
  NOW,
  onlyJob,
  open,
  part,
  rows,
  RUN,
  testContext,
  unreliableDatabase,
} from "../../test-support/index.ts";
import { deliver, messageOf } from "../../test-support/deliver.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

/** Everything that a delivery may change. */
const everything = async () => ({
  submissions: await rows(env.DB, "SELECT * FROM submissions ORDER BY id"),
  parts: await rows(env.DB, "SELECT * FROM parts ORDER BY submission_id, part"),
  documents: await rows(env.DB, "SELECT * FROM documents ORDER BY submission_id, place"),
  outcomes: await rows(env.DB, "SELECT * FROM outcomes"),
  jobs: await rows(env.DB, "SELECT * FROM jobs ORDER BY id"),
  malformed: await rows(env.DB, "SELECT * FROM malformed_messages"),
});

describe("a delivery", () => {
  it("is recorded, with its dispatch and list stored, before Workers AI is called", async () => {
    const submission = await open(context.db, { total: 5 });
    const messages = [
      messageOf(part(submission, 0, documents("a", 3))),
      messageOf(part(submission, 1, documents("b", 2), 3)),
    ];
    let during: unknown;
    service.onSubmit = async () => {
      during = {
        counters: await counters(env.DB, submission),
        job: await onlyJob(env.DB),
        documents: await rows(env.DB, "SELECT document_id AS id FROM documents ORDER BY place"),
      };
    };
    expect(await deliver(context, messages)).toEqual(["ack", "ack"]);
    expect(during).toMatchObject({
      counters: { total: 5, recorded: 5, succeeded: 0, failed: 0, canceled: 0, completed: false },
      job: {
        status: "dispatching",
        dispatchNumber: 1,
        requestId: null,
        dueAt: NOW + DISPATCH_LEASE_MS,
        documents: ["a0", "a1", "a2", "b0", "b1"],
      },
      documents: ["a0", "a1", "a2", "b0", "b1"].map((id) => ({ id })),
    });
    expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", requestId: "batch-1", dueAt: NOW + 10_000 });
    expect(service.submits).toHaveLength(1);
    expect(service.submits[0]?.model).toBe("@cf/baai/bge-m3");
    expect(service.submits[0]?.requests.map(({ query }) => query)).toEqual(
      [...documents("a", 3), ...documents("b", 2)].map(({ query }) => query),
    );
  });

  it("records a message once if it contains it twice", async () => {
    const submission = await open(context.db, { total: 3 });
    const message = messageOf(part(submission, 0, documents("d", 3)));
    expect(await deliver(context, [message, { ...message, id: "again" }])).toEqual(["ack", "ack"]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 3, recorded: 3 });
    expect((await onlyJob(env.DB)).documents).toEqual(["d0", "d1", "d2"]);
    expect(service.submits).toHaveLength(1);
  });

  it("changes nothing when it is delivered again", async () => {
    const submission = await open(context.db, { total: 3 });
    const message = messageOf(part(submission, 0, documents("d", 3)));
    await deliver(context, [message]);
    const before = await everything();
    context.clock.now += RUN;
    expect(await deliver(context, [message, { ...message, id: "again" }])).toEqual(["ack", "ack"]);
    expect(await everything()).toEqual(before);
    expect(service.calls).toHaveLength(1);
  });

  it("records a new part next to one that was delivered before", async () => {
    const submission = await open(context.db, { total: 3 });
    const old = messageOf(part(submission, 0, documents("a", 2)));
    await deliver(context, [old]);
    expect(await deliver(context, [old, messageOf(part(submission, 1, documents("b", 1), 2))])).toEqual(["ack", "ack"]);
    expect((await jobs(env.DB)).map((job) => job.documents)).toEqual([["a0", "a1"], ["b0"]]);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 3 });
  });

  it("is recorded and sent once when two consumers have it at the same time", async () => {
    const submission = await open(context.db, { total: 6 });
    const messages = [0, 1].map((number) =>
      messageOf(part(submission, number, documents(`p${number}-`, 3), number * 3)),
    );
    const decisions = await Promise.all([deliver(context, messages), deliver(context, messages.toReversed())]);
    expect(decisions).toEqual([
      ["ack", "ack"],
      ["ack", "ack"],
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 6, recorded: 6 });
    const sent = service.submits.flatMap((call) => call.requests.map(({ query }) => query));
    expect(sent.toSorted()).toEqual(
      [...documents("p0-", 3), ...documents("p1-", 3)].map(({ query }) => query).toSorted(),
    );
    expect((await jobs(env.DB)).map((job) => job.status)).toEqual(["dispatched"]);
  });

  it("overlapping another sends no document twice", async () => {
    const submission = await open(context.db, { total: 3 });
    const [first, shared, last] = [0, 1, 2].map((number) =>
      messageOf(part(submission, number, [document(`d${number}`)], number)),
    );
    if (first === undefined || shared === undefined || last === undefined) throw new Error("three messages");
    const deliveries = [
      [first, shared],
      [shared, last],
    ];
    const decided = await Promise.all(deliveries.map((messages) => deliver(context, messages)));
    // A transaction records all of its parts or none, so parts delivered with a recorded one are redelivered.
    const again = deliveries.flatMap((messages, n) => messages.filter((_, index) => decided[n]?.[index] === "retry"));
    expect(again).toHaveLength(1);
    expect(await deliver(context, again)).toEqual(["ack"]);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 3 });
    const sent = service.submits.flatMap((call) => call.requests.map(({ query }) => query));
    expect(sent.toSorted()).toEqual(documents("d", 3).map(({ query }) => query));
  });

  it("ends the documents of a canceled submission and sends none of them", async () => {
    const submission = await open(context.db, { total: 2 });
    await env.DB.prepare("UPDATE submissions SET cancel_requested_at = ?").bind(NOW).run();
    expect(await deliver(context, [messageOf(part(submission, 0, documents("d", 2)))])).toEqual(["ack"]);
    expect(await counters(env.DB, submission)).toEqual({
      total: 2,
      recorded: 2,
      succeeded: 0,
      failed: 0,
      canceled: 2,
      completed: true,
    });
    expect(service.calls).toEqual([]);
    expect(await jobs(env.DB)).toEqual([]);
  });

  it("does nothing if it is empty", async () => {
    expect(await deliver(context, [])).toEqual([]);
    expect(await jobs(env.DB)).toEqual([]);
  });
});

describe("a part too big for a message", () => {
  const big = { id: "big", query: "what is big?", contexts: ["x".repeat(300_000), "漢".repeat(200_000)] };

  it("is recorded through its reference", async () => {
    const submission = await open(context.db, { total: 1, lane: "bulk" });
    const staged = part(submission, 0, [big]);
    await stagePart(context.db, submission, { part: 0, body: staged.body, total: 1 }, NOW);
    const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: 0 };
    expect(await deliver(context, [{ id: "m", body: JSON.stringify(reference) }])).toEqual(["ack"]);
    expect(service.submits[0]?.requests).toMatchObject([
      { query: big.query, contexts: big.contexts.map((text) => ({ text })) },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 1, recorded: 1 });
    expect(await readStagedPart(context.db, submission, 0)).toBeNull();
  });

  it("is recorded with all others before any dispatch; a slow service leaves jobs to the poller", async () => {
    const submission = await open(context.db, { total: 20, lane: "bulk" });
    const messages = [];
    for (let number = 0; number < 20; number += 1) {
      const staged = part(submission, number, [{ ...big, id: `big${number}` }], number);
      await stagePart(context.db, submission, { part: number, body: staged.body, total: 20 }, NOW);
      const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: number };
      messages.push({ id: `m${number}`, body: JSON.stringify(reference) });
    }
    const recordedAtDispatch: unknown[] = [];
    service.onSubmit = async () => {
      recordedAtDispatch.push((await counters(env.DB, submission))?.recorded);
      context.clock.now += 30_000;
      return undefined;
    };
    expect(new Set(await deliver(context, messages))).toEqual(new Set(["ack"]));
    expect(recordedAtDispatch).toEqual([20, 20]);
    const left = await jobs(env.DB);
    expect(left.map(({ status }) => status)).toEqual(["dispatched", "dispatched", "pending"]);
    expect(left.at(-1)).toMatchObject({ dueAt: context.clock.now, dispatchNumber: 0 });
  });

  it("is fetched a few at a time to save memory: 25 references, three jobs", async () => {
    const observed = unreliableDatabase(env.DB);
    const watched = testContext(observed.d1, service);
    const submission = await open(context.db, { total: 25, lane: "bulk" });
    const messages = [];
    for (let number = 0; number < 25; number += 1) {
      const staged = part(submission, number, [{ ...big, id: `big${number}` }], number);
      await stagePart(context.db, submission, { part: number, body: staged.body, total: 25 }, NOW);
      const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: number };
      messages.push({ id: `m${number}`, body: JSON.stringify(reference) });
    }
    observed.calls.length = 0;
    expect(new Set(await deliver(watched, messages))).toEqual(new Set(["ack"]));
    // In the order of the calls: fetched, fetched, …, recorded.
    let held = 0;
    let max = 0;
    for (const { sql } of observed.calls) {
      if (/SELECT .*FROM "?staged_parts/is.test(sql)) held += 1;
      if (sql.includes("INSERT INTO jobs")) held = 0;
      max = Math.max(max, held);
    }
    expect(max).toBe(9);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 25 });
  });

  it("changes nothing when its reference is redelivered after it was recorded", async () => {
    const submission = await open(context.db, { total: 1 });
    const staged = part(submission, 0, [big]);
    await stagePart(context.db, submission, { part: 0, body: staged.body, total: 1 }, NOW);
    const reference = { id: "m", body: JSON.stringify({ v: 1, kind: "staged", submission, lane: "bulk", part: 0 }) };
    await deliver(context, [reference]);
    const before = await everything();
    expect(await deliver(context, [reference])).toEqual(["ack"]);
    expect(await everything()).toEqual(before);
    expect(service.calls).toHaveLength(1);
  });
});
