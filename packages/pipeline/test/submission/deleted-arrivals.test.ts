import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import { openDatabase, type Database } from "@sluice/db";
import type { SubmissionId } from "@sluice/core";
import { closeSubmission } from "../../src/submission/sql/close-submission.ts";
import { continueDeletion } from "../../src/submission/continue-deletion.ts";
import { raiseTotal } from "../../src/submission/sql/raise-total.ts";
import { readDeletion, requestDeletion } from "../../src/submission/sql/request-deletion.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { releasePush, takeOverPush } from "../../src/submission/sql/take-over-push.ts";
import { quarantineMessage } from "../../src/message/sql/quarantine-message.ts";
import { stagedBody } from "../../src/message/message.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { deliver, messageOf } from "../../test-support/deliver.ts";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";
import { jobId, record } from "../../test-support/fixtures.ts";
import { documents, NOW, open, part, rows, RUN } from "../../test-support/index.ts";
import { context, it } from "../../test-support/pipeline-test.ts";

const COLLECTION = "old";

/** Parts of one document each. */
const partsOf = (submission: SubmissionId, name: string, count: number, collection = COLLECTION) =>
  documents(name, count).map((one, index) => part(submission, index, [one], index, collection));

async function deleteCollection(db: Database = context.db): Promise<void> {
  const deletion = await requestDeletion(db, COLLECTION, context.now());
  if (deletion !== null) await continueDeletion({ ...context, db }, deletion, 10);
}

const row = async (submission: SubmissionId) =>
  (await rows(env.DB, `SELECT * FROM submissions WHERE id = '${submission}'`))[0];
const count = async (table: string) => (await rows(env.DB, `SELECT 1 FROM ${table}`)).length;
const isComplete = async () => (await readDeletion(context.db, COLLECTION))?.completedAt != null;

describe("a message that arrives after the deletion of its collection", () => {
  it("is acknowledged: its documents end canceled, and no text is stored", async () => {
    const submission = await open(context.db, { total: 3, collection: COLLECTION });
    const parts = partsOf(submission, "d", 3);
    await deleteCollection();
    expect(await isComplete()).toBe(true);
    expect(await row(submission)).toMatchObject({ cancel_requested_at: NOW, recorded: 0, completed_at: null });
    expect(
      await deliver(
        context,
        parts.slice(0, 2).map((one) => messageOf(one)),
      ),
    ).toEqual(["ack", "ack"]);
    expect(
      await deliver(
        context,
        parts.map((one) => messageOf(one)),
      ),
    ).toEqual(["ack", "ack", "ack"]);
    expect(await row(submission)).toMatchObject({ recorded: 3, canceled: 3, forgotten: 3, completed_at: NOW });
    for (const table of ["documents", "contexts", "outcomes", "jobs"]) expect(await count(table), table).toBe(0);
    expect(await count("parts")).toBe(3);
  });

  it("holds back no neighbor in its delivery for longer than one more delivery", async () => {
    const submission = await open(context.db, { total: 1, collection: COLLECTION });
    await deleteCollection();
    const later = await open(context.db, { total: 1, collection: COLLECTION }, NOW + 1);
    const messages = [...partsOf(submission, "d", 1), ...partsOf(later, "e", 1)].map((one) => messageOf(one));
    expect(await deliver(context, messages)).toEqual(["ack", "retry"]);
    expect(await deliver(context, messages)).toEqual(["ack", "ack"]);
    await runUntilDone(context);
    expect(await row(later)).toMatchObject({ succeeded: 1, canceled: 0, forgotten: 0 });
    expect(await row(submission)).toMatchObject({ canceled: 1, forgotten: 1 });
  });

  it("no longer counts as lost", async () => {
    const submission = await open(context.db, { total: 2, collection: COLLECTION });
    const [first, second] = partsOf(submission, "d", 2);
    if (first === undefined || second === undefined) throw new Error("there are two parts");
    await deliver(context, [messageOf(first)]);
    await runUntilDone(context);
    const now = context.now() + 1_000_000;
    await sweepSubmissions(context.db, { now, settledBy: now, abandonedBefore: now, lostBefore: now });
    expect(await row(submission)).toMatchObject({ succeeded: 1, lost: 1, completed_at: now });
    context.clock.now = now + 1;
    await deleteCollection();
    expect(await row(submission)).toMatchObject({ forgotten: 1, cancel_requested_at: null });
    expect(await deliver(context, [messageOf(second)])).toEqual(["ack"]);
    expect(await row(submission)).toMatchObject({ succeeded: 1, canceled: 1, lost: 0, forgotten: 2, recorded: 2 });
    expect(await count("documents")).toBe(0);
  });

  it("costs no row read before a deletion or cancellation", async () => {
    const reads = async (submission: SubmissionId) => {
      const { d1, counts } = countedDatabase(env.DB);
      await record(openDatabase(d1), jobId(), [partsOf(submission, submission, 5, "default")]);
      return counts.reduce((sum, one) => sum + one.read, 0);
    };
    const before = await reads(await open(context.db, { total: 5 }));
    await requestDeletion(context.db, "default", NOW);
    // Covered, but not canceled yet: recorded, and deleted later.
    const after = await reads(await open(context.db, { total: 5 }, NOW - 1));
    expect(after).toBe(before);
  });
});

describe("a push of a deleted collection", () => {
  it("is closed: it can send nothing more, and not be resumed", async () => {
    const submission = await open(context.db, { total: 1, closed: false, collection: COLLECTION });
    await deleteCollection();
    expect(await row(submission)).toMatchObject({ closed_at: NOW, incomplete: 1, total: 1, completed_at: null });
    expect(await raiseTotal(context.db, submission, 2, NOW)).toBe(false);
    const [one] = partsOf(submission, "d", 1);
    expect(await stagePart(context.db, submission, { part: 1, body: one?.body ?? "", total: 2 }, NOW)).toBe(false);
    expect(await closeSubmission(context.db, submission, NOW)).toBe("given_up");
    await releasePush(context.db, submission, null);
    expect(await takeOverPush(context.db, submission, "token", NOW + 1)).toBe(false);
    if (one !== undefined) await deliver(context, [messageOf(one)]);
    expect(await row(submission)).toMatchObject({ recorded: 1, canceled: 1, completed_at: NOW });
  });

  it("with staged parts keeps the deletion open until they are recorded, without their documents", async () => {
    const submission = await open(context.db, { total: 2, collection: COLLECTION });
    const parts = partsOf(submission, "d", 2);
    for (const one of parts) await stagePart(context.db, submission, { part: one.part, body: one.body, total: 2 }, NOW);
    await deleteCollection();
    expect(await isComplete()).toBe(false);
    // The message of one arrives. The poller records the other.
    const body = stagedBody({ submission, lane: "bulk" }, 0);
    expect(await deliver(context, [{ id: "staged", body }])).toEqual(["ack"]);
    expect(await count("staged_parts")).toBe(1);
    for (let run = 0; run < 7; run += 1) await nextRun(context);
    expect(context.now() - NOW).toBeLessThan(10 * RUN);
    expect(await isComplete()).toBe(true);
    for (const table of ["staged_parts", "documents", "contexts"]) expect(await count(table), table).toBe(0);
    expect(await row(submission)).toMatchObject({ recorded: 2, canceled: 2, forgotten: 2 });
  });

  it("loses its quarantined messages, and no other", async () => {
    const submission = await open(context.db, { total: 1, collection: COLLECTION });
    const other = await open(context.db, { total: 1, collection: "other" }, NOW + 1);
    const bodies = [partsOf(submission, "d", 1), partsOf(other, "o", 1, "other")].map(([one]) => one?.body ?? "");
    for (const [index, body] of [...bodies, "not JSON"].entries())
      await quarantineMessage(context.db, { queue: "sluice-bulk", id: `m${index}`, reason: "r", body }, NOW);
    await deleteCollection();
    expect(await rows(env.DB, "SELECT message_id FROM malformed_messages ORDER BY message_id")).toEqual([
      { message_id: "m1" },
      { message_id: "m2" },
    ]);
  });
});

describe("the steps of a deletion", () => {
  it("read rows in proportion to the documents, and write one row for each that they delete", async () => {
    const fill = async (total: number) => {
      const submission = await open(context.db, { total, collection: COLLECTION });
      const list = documents("d", total, 1);
      const parts = Array.from({ length: total / 50 }, (_, index) =>
        part(submission, index, list.slice(index * 50, index * 50 + 50), index * 50, COLLECTION),
      );
      await record(context.db, jobId(), [parts]);
      const { d1, counts } = countedDatabase(env.DB);
      await deleteCollection(openDatabase(d1));
      expect(await isComplete()).toBe(true);
      const sum = (what: "read" | "written") => counts.reduce((all, one) => all + one[what], 0);
      return { read: sum("read"), written: sum("written") };
    };
    const few = await fill(200);
    const many = await fill(1_000);
    expect(few.written).toBeLessThanOrEqual(200 + 20);
    expect(many.written - few.written).toBeLessThanOrEqual(800 + 800 / 50);
    expect(few.read / 200).toBeLessThanOrEqual(35);
    expect(many.read / 1_000).toBeLessThanOrEqual(35);
  });
});
