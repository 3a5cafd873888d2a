import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import { readStagedPart, stagePart } from "../../src/message/sql/stage-parts.ts";
import {
  BatchService,
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
  testIo,
  unreliableDatabase,
  type TestIo,
} from "../../test-support/index.ts";
import { deliver, messageOf } from "../../test-support/deliver.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

let service: BatchService;
let io: TestIo;
beforeEach(() => {
  service = new BatchService();
  io = testIo(env.DB, service);
});

/** Everything a delivery may change. */
const everything = async () => ({
  submissions: await rows(env.DB, "SELECT * FROM submissions ORDER BY id"),
  parts: await rows(env.DB, "SELECT * FROM parts ORDER BY submission_id, part"),
  documents: await rows(env.DB, "SELECT * FROM documents ORDER BY submission_id, place"),
  outcomes: await rows(env.DB, "SELECT * FROM outcomes"),
  jobs: await rows(env.DB, "SELECT * FROM jobs ORDER BY id"),
  malformed: await rows(env.DB, "SELECT * FROM malformed_messages"),
});

describe("a delivery", () => {
  it("is recorded, its dispatch started and its list stored before Workers AI is called", async () => {
    const submission = await open(io.db, { total: 5 });
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
    expect(await deliver(io, messages)).toEqual(["ack", "ack"]);
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

  it("records a message that it holds twice once", async () => {
    const submission = await open(io.db, { total: 3 });
    const message = messageOf(part(submission, 0, documents("d", 3)));
    expect(await deliver(io, [message, { ...message, id: "again" }])).toEqual(["ack", "ack"]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 3, recorded: 3 });
    expect((await onlyJob(env.DB)).documents).toEqual(["d0", "d1", "d2"]);
    expect(service.submits).toHaveLength(1);
  });

  it("changes nothing when it comes again", async () => {
    const submission = await open(io.db, { total: 3 });
    const message = messageOf(part(submission, 0, documents("d", 3)));
    await deliver(io, [message]);
    const before = await everything();
    io.clock.now += RUN;
    expect(await deliver(io, [message, { ...message, id: "again" }])).toEqual(["ack", "ack"]);
    expect(await everything()).toEqual(before);
    expect(service.calls).toHaveLength(1);
  });

  it("records the new part beside one that came before", async () => {
    const submission = await open(io.db, { total: 3 });
    const old = messageOf(part(submission, 0, documents("a", 2)));
    await deliver(io, [old]);
    expect(await deliver(io, [old, messageOf(part(submission, 1, documents("b", 1), 2))])).toEqual(["ack", "ack"]);
    expect((await jobs(env.DB)).map((job) => job.documents)).toEqual([["a0", "a1"], ["b0"]]);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 3 });
  });

  it("is recorded and sent once when two consumers have it at once", async () => {
    const submission = await open(io.db, { total: 6 });
    const messages = [0, 1].map((number) =>
      messageOf(part(submission, number, documents(`p${number}-`, 3), number * 3)),
    );
    const decisions = await Promise.all([deliver(io, messages), deliver(io, messages.toReversed())]);
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

  it("shares two overlapping deliveries out without sending a document twice", async () => {
    const submission = await open(io.db, { total: 3 });
    const [first, shared, last] = [0, 1, 2].map((number) =>
      messageOf(part(submission, number, [document(`d${number}`)], number)),
    );
    if (first === undefined || shared === undefined || last === undefined) throw new Error("three messages");
    const deliveries = [
      [first, shared],
      [shared, last],
    ];
    const decided = await Promise.all(deliveries.map((messages) => deliver(io, messages)));
    // A transaction records all of its parts or none: what came with one that is recorded comes again.
    const again = deliveries.flatMap((messages, n) => messages.filter((_, index) => decided[n]?.[index] === "retry"));
    expect(again).toHaveLength(1);
    expect(await deliver(io, again)).toEqual(["ack"]);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 3 });
    const sent = service.submits.flatMap((call) => call.requests.map(({ query }) => query));
    expect(sent.toSorted()).toEqual(documents("d", 3).map(({ query }) => query));
  });

  it("ends the documents of a canceled submission and sends none of them", async () => {
    const submission = await open(io.db, { total: 2 });
    await env.DB.prepare("UPDATE submissions SET cancel_requested_at = ?").bind(NOW).run();
    expect(await deliver(io, [messageOf(part(submission, 0, documents("d", 2)))])).toEqual(["ack"]);
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

  it("of nothing does nothing", async () => {
    expect(await deliver(io, [])).toEqual([]);
    expect(await jobs(env.DB)).toEqual([]);
  });
});

describe("a part too big for a message", () => {
  const big = { id: "big", query: "what is big?", contexts: ["x".repeat(300_000), "漢".repeat(200_000)] };

  it("is recorded through the reference to it", async () => {
    const submission = await open(io.db, { total: 1, lane: "bulk" });
    const staged = part(submission, 0, [big]);
    await stagePart(io.db, submission, { part: 0, body: staged.body, total: 1 }, NOW);
    const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: 0 };
    expect(await deliver(io, [{ id: "m", body: JSON.stringify(reference) }])).toEqual(["ack"]);
    expect(service.submits[0]?.requests).toMatchObject([
      { query: big.query, contexts: big.contexts.map((text) => ({ text })) },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 1, recorded: 1 });
    expect(await readStagedPart(io.db, submission, 0)).toBeNull();
  });

  it("is recorded with all others before any job is dispatched, and a slow service leaves jobs to the poller", async () => {
    const submission = await open(io.db, { total: 20, lane: "bulk" });
    const messages = [];
    for (let number = 0; number < 20; number += 1) {
      const staged = part(submission, number, [{ ...big, id: `big${number}` }], number);
      await stagePart(io.db, submission, { part: number, body: staged.body, total: 20 }, NOW);
      const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: number };
      messages.push({ id: `m${number}`, body: JSON.stringify(reference) });
    }
    const recordedAtDispatch: unknown[] = [];
    service.onSubmit = async () => {
      recordedAtDispatch.push((await counters(env.DB, submission))?.recorded);
      io.clock.now += 30_000;
      return undefined;
    };
    expect(new Set(await deliver(io, messages))).toEqual(new Set(["ack"]));
    expect(recordedAtDispatch).toEqual([20, 20]);
    const left = await jobs(env.DB);
    expect(left.map(({ status }) => status)).toEqual(["dispatched", "dispatched", "pending"]);
    expect(left.at(-1)).toMatchObject({ dueAt: io.clock.now, dispatchNumber: 0 });
  });

  it("is fetched with few others at a time, so that memory does: 25 references, three jobs", async () => {
    const observed = unreliableDatabase(env.DB);
    const watched = testIo(observed.d1, service);
    const submission = await open(io.db, { total: 25, lane: "bulk" });
    const messages = [];
    for (let number = 0; number < 25; number += 1) {
      const staged = part(submission, number, [{ ...big, id: `big${number}` }], number);
      await stagePart(io.db, submission, { part: number, body: staged.body, total: 25 }, NOW);
      const reference = { v: 1, kind: "staged", submission, lane: "bulk", part: number };
      messages.push({ id: `m${number}`, body: JSON.stringify(reference) });
    }
    observed.calls.length = 0;
    expect(new Set(await deliver(watched, messages))).toEqual(new Set(["ack"]));
    // Fetched, fetched, …, recorded: in the order of the calls.
    let held = 0;
    let most = 0;
    for (const { sql } of observed.calls) {
      if (/SELECT .*FROM "?staged_parts/is.test(sql)) held += 1;
      if (sql.includes("INSERT INTO jobs")) held = 0;
      most = Math.max(most, held);
    }
    expect(most).toBe(9);
    expect(await counters(env.DB, submission)).toMatchObject({ recorded: 25 });
  });

  it("changes nothing when its reference comes again, though it is not staged any more", async () => {
    const submission = await open(io.db, { total: 1 });
    const staged = part(submission, 0, [big]);
    await stagePart(io.db, submission, { part: 0, body: staged.body, total: 1 }, NOW);
    const reference = { id: "m", body: JSON.stringify({ v: 1, kind: "staged", submission, lane: "bulk", part: 0 }) };
    await deliver(io, [reference]);
    const before = await everything();
    expect(await deliver(io, [reference])).toEqual(["ack"]);
    expect(await everything()).toEqual(before);
    expect(service.calls).toHaveLength(1);
  });
});
