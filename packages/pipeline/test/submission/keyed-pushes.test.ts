import { env } from "cloudflare:test";
import { uuidTail } from "@sluice/core";
import { beforeEach, describe, expect, it } from "vitest";
import { closeSubmission } from "../../src/submission/sql/close-submission.ts";
import { keepAnswer, readIdempotencyKey } from "../../src/submission/sql/read-idempotency-key.ts";
import { releasePush, readCountedParts, takeOverPush } from "../../src/submission/sql/take-over-push.ts";
import { openDatabase, type Database } from "@sluice/db";
import { openKeyedSubmission } from "../../src/submission/sql/open-submission.ts";
import { raiseTotal } from "../../src/submission/sql/raise-total.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { bytes, jobId, MODEL, NOW, open, opened, part, record } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const CLAIM = { apiKey: "name", key: "k", fingerprint: null };
const NEW = {
  collection: "default",
  model: MODEL,
  lane: "bulk",
  label: null,
  truncateInputs: true,
  total: 3,
  closed: false,
} as const;

/** `null`: another push has the key. */
async function openKeyed(tail = uuidTail(bytes(10)), now = NOW) {
  const opening = await openKeyedSubmission(db, NEW, CLAIM, tail, now);
  return opening === null ? null : opened(opening);
}

describe("a key", () => {
  it("is claimed with the submission: a second claim opens none", async () => {
    const first = await openKeyed();
    expect(await openKeyed()).toBeNull();
    expect(await readIdempotencyKey(db, CLAIM, NOW)).toEqual({
      submission: first?.id,
      fingerprint: null,
      status: null,
      answer: null,
      idle: 0,
      holder: null,
    });
    expect(await rows("SELECT count(*) AS n FROM submissions")).toEqual([{ n: 1 }]);
  });

  it("is claimed once when an error hid the commit", async () => {
    const tail = uuidTail(bytes(10));
    const first = await openKeyed(tail);
    expect(await openKeyed(tail)).toEqual(first);
    expect(await rows("SELECT count(*) AS n FROM submissions")).toEqual([{ n: 1 }]);
  });

  it("can be claimed again after a day, by another submission", async () => {
    const first = await openKeyed();
    expect(await readIdempotencyKey(db, CLAIM, NOW + DAY)).toBeNull();
    const second = await openKeyed(uuidTail(bytes(10)), NOW + DAY);
    expect(second?.id).not.toBe(first?.id);
    expect((await readIdempotencyKey(db, CLAIM, NOW + DAY))?.submission).toBe(second?.id);
  });

  it("keeps its first answer", async () => {
    const opened = await openKeyed();
    if (opened === null) throw new Error("the submission was not opened");
    for (const text of ["first", "second"]) {
      await keepAnswer(db, CLAIM, { submission: opened.id, fingerprint: text, status: 202, text });
    }
    expect(await readIdempotencyKey(db, CLAIM, NOW)).toMatchObject({
      fingerprint: "first",
      status: 202,
      answer: "first",
    });
  });

  it("is deleted by new ones after it expired, a few at a time", async () => {
    const insert = env.DB.prepare(
      "INSERT INTO idempotency_keys (api_key, key, submission_id, created_at) VALUES ('name', ?1, 'sub', ?2)",
    );
    await env.DB.batch(Array.from({ length: 50 }, (_, index) => insert.bind(`old-${index}`, NOW - DAY)));
    const { d1, counts } = countedDatabase(env.DB);
    await openKeyedSubmission(openDatabase(d1), NEW, CLAIM, uuidTail(bytes(10)), NOW);
    expect(await rows("SELECT count(*) AS n FROM idempotency_keys")).toEqual([{ n: 31 }]);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(200);
  });
});

describe("taking over a push", () => {
  const broken = async () => open(db, { total: 3, closed: false });

  it("is possible after 60 seconds without activity, for one request only", async () => {
    const id = await broken();
    expect(await takeOverPush(db, id, "one", NOW + MINUTE - 1)).toBe(false);
    expect(await takeOverPush(db, id, "one", NOW + MINUTE)).toBe(true);
    expect(await takeOverPush(db, id, "two", NOW + MINUTE)).toBe(false);
    // A repeat, as after an error that hid the commit.
    expect(await takeOverPush(db, id, "one", NOW + MINUTE)).toBe(true);
  });

  it("is possible immediately if its holder released it", async () => {
    const id = await broken();
    await releasePush(db, id, "someone else");
    expect(await takeOverPush(db, id, "one", NOW)).toBe(false);
    await releasePush(db, id, null);
    expect(await takeOverPush(db, id, "one", NOW)).toBe(true);
  });

  it("prevents its former holder from raising, staging, closing or releasing", async () => {
    const id = await broken();
    await takeOverPush(db, id, "one", NOW + MINUTE);
    expect(await raiseTotal(db, id, 9, NOW + MINUTE)).toBe(false);
    expect(await stagePart(db, id, { part: 1, body: "b", total: 9 }, NOW + MINUTE)).toBe(false);
    expect(await closeSubmission(db, id, NOW + MINUTE)).toBe("taken");
    await releasePush(db, id, null);
    expect(await rows("SELECT total, closed_at, holder FROM submissions")).toEqual([
      { total: 3, closed_at: null, holder: "one" },
    ]);
    expect(await rows("SELECT part FROM staged_parts")).toEqual([]);
    expect(await raiseTotal(db, id, 9, NOW + MINUTE, "one")).toBe(true);
    expect(await stagePart(db, id, { part: 1, body: "b", total: 10 }, NOW + MINUTE, "one")).toBe(true);
    // Closing again, as after an error that hid the commit, changes nothing.
    expect(await closeSubmission(db, id, NOW + MINUTE, "one")).toBe("closed");
    expect(await closeSubmission(db, id, NOW + 2 * MINUTE, "one")).toBe("closed");
    expect(await closeSubmission(db, id, NOW + 2 * MINUTE)).toBe("taken");
    expect(await rows("SELECT total, closed_at FROM submissions")).toEqual([{ total: 10, closed_at: NOW + MINUTE }]);
  });

  it("is not possible for an abandoned push, which has no holder and stays closed", async () => {
    const id = await broken();
    await env.DB.prepare("UPDATE submissions SET closed_at = ?1, incomplete = 1").bind(NOW).run();
    expect(await closeSubmission(db, id, NOW + MINUTE)).toBe("given_up");
    expect(await rows("SELECT closed_at, incomplete FROM submissions")).toEqual([{ closed_at: NOW, incomplete: 1 }]);
  });

  it("reopens one that was closed as incomplete, and lets the sweep find it", async () => {
    const id = await broken();
    await env.DB.prepare("UPDATE submissions SET closed_at = ?1, incomplete = 1").bind(NOW).run();
    await takeOverPush(db, id, "one", NOW + MINUTE);
    expect(await rows("SELECT closed_at, incomplete FROM submissions")).toEqual([{ closed_at: null, incomplete: 0 }]);
    expect(await rows("SELECT submission_id FROM watched_submissions")).toEqual([{ submission_id: id }]);
  });

  it("finds the parts that are recorded or staged, each once", async () => {
    const id = await open(db, { total: 9, closed: false });
    const numbered = (number: number, documents: number) =>
      part(
        id,
        number,
        Array.from({ length: documents }, (_, index) => ({ id: `d${number}-${index}` })),
        number,
      );
    for (const number of [4, 1]) await record(db, jobId(), [[numbered(number, number)]]);
    // Part 4 was staged again after it was recorded, by a request that did not know.
    for (const number of [3, 4]) {
      await stagePart(db, id, { part: number, body: numbered(number, 1).body, total: 9 }, NOW);
    }
    expect(await readCountedParts(db, id)).toEqual([
      { part: 1, documentCount: 1, hash: "hash-1", state: "recorded" },
      { part: 3, documentCount: 1, hash: "hash-3", state: "staged" },
      { part: 4, documentCount: 4, hash: "hash-4", state: "recorded" },
    ]);
  });
});
