import { env } from "cloudflare:test";
import { uuidTail, type SubmissionId } from "@sluice/core";
import { beforeEach, describe, expect, it } from "vitest";
import { D1_TIME, readTime, type Time } from "../../src/platform/clock.ts";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { releasePush, takeOverPush } from "../../src/submission/sql/take-over-push.ts";
import { openDatabase, type Database } from "@sluice/db";
import { openKeyedSubmission, openSubmission, submissionIdAt } from "../../src/submission/sql/open-submission.ts";
import { readIdempotencyKey } from "../../src/submission/sql/read-idempotency-key.ts";
import { sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { bytes, MODEL, NOW, open, opened } from "../../test-support/fixtures.ts";

/* D1's clock and the isolates' clocks differ, and either may be wrong. A submission is opened with D1's. */

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NEW = {
  collection: "default",
  model: MODEL,
  lane: "bulk",
  label: null,
  truncateInputs: true,
  total: 1,
  closed: false,
} as const;
const CLAIM = { apiKey: "name", key: "k", fingerprint: null };

const token = () => uuidTail(bytes(10));
const openAt = async (now: Time, from = db) => opened(await openSubmission(from, NEW, token(), now));
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const hex = (id: string) => BigInt(`0x${id.slice(4).replaceAll("-", "")}`);
const timeOf = (id: string) => Number(hex(id) >> 80n);

/** Inserts a submission with this id, opened at this time. */
async function plant(id: string, createdAt: number): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO submissions (id, collection, model, lane, truncate_inputs, total, created_at, active_at)
     VALUES (?1, 'default', 'm', 'bulk', 1, 1, ?2, ?2)`,
  )
    .bind(id, createdAt)
    .run();
}

/** Inserts `count` submissions with rising ids from this time on, opened at this time. */
async function plantMany(count: number, idsFrom: number, createdAt: number): Promise<void> {
  const prefix = submissionIdAt(idsFrom);
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO submissions (id, collection, model, lane, truncate_inputs, total, created_at, active_at, closed_at)
     SELECT ?2 || '-7000-8000-' || printf('%012x', i), 'default', 'm', 'bulk', 1, 1, ?3, ?3, ?3 FROM n`,
  )
    .bind(count, prefix, createdAt)
    .run();
}

describe("a submission's id", () => {
  it("has the time of D1's clock", async () => {
    const before = await readTime(db, D1_TIME);
    const { id, createdAt } = await openAt(D1_TIME);
    const after = await readTime(db, D1_TIME);
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(createdAt).toBeLessThanOrEqual(after);
    expect(timeOf(id)).toBe(createdAt);
    expect(Math.abs(before - Date.now())).toBeLessThan(HOUR);
  });

  it("is the newest id plus one if that is ahead of the clock", async () => {
    const newest = "sub_01a228a4-d3cc-7c43-8d13-7ed8df7c05ea";
    await plant(newest, NOW);
    const now = timeOf(newest) - DAY;
    const opened = [await openAt(now), await openAt(now), await openAt(now + MINUTE)];
    expect(opened.map(({ id }) => hex(id) - hex(newest))).toEqual([1n, 2n, 3n]);
    expect(opened.map(({ createdAt }) => createdAt)).toEqual([now, now, now + MINUTE]);
    expect(await rows("SELECT active_at FROM submissions ORDER BY id DESC LIMIT 1")).toEqual([
      { active_at: now + MINUTE },
    ]);
    const later = await openAt(now + 2 * DAY);
    expect(timeOf(later.id)).toBe(now + 2 * DAY);
  });

  it.each([
    ["00000000000f", "000000000010"],
    ["0000000a9fff", "0000000aa000"],
    ["fffffffffffe", "ffffffffffff"],
    ["7fffffffffff", "800000000000"],
  ])("carries from %s to %s", async (low, next) => {
    await plant(`sub_01a228a4-d3cc-7c43-8d13-${low}`, NOW);
    expect((await openAt(NOW - DAY)).id).toBe(`sub_01a228a4-d3cc-7c43-8d13-${next}`);
  });

  it("moves to the next millisecond if the low bits are used up", async () => {
    await plant("sub_01a228a4-dfff-7c43-8d13-ffffffffffff", NOW);
    const tail = token();
    expect(opened(await openSubmission(db, NEW, tail, NOW - DAY)).id).toBe(`sub_01a228a4-e000-${tail}`);
  });

  it("is greater than an earlier one in the same millisecond", async () => {
    const ids: SubmissionId[] = [];
    for (let n = 0; n < 20; n += 1) ids.push((await openAt(NOW)).id);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(20);
  });
});

describe("a try that is repeated because an error hid its commit", () => {
  /** A D1 whose first batch commits but returns an error. */
  function hiding(): D1Database {
    let hides = true;
    return new Proxy(env.DB, {
      get(target, property) {
        if (property === "batch") {
          return async (statements: D1PreparedStatement[]) => {
            const results = await target.batch(statements);
            if (!hides) return results;
            hides = false;
            // Others open submissions in the meantime.
            for (let n = 0; n < 3; n += 1) await openAt(NOW);
            throw new Error("D1_ERROR: Network connection lost.");
          };
        }
        return Reflect.get(target, property) as unknown;
      },
    });
  }
  const retryPolicy = { tries: 2, bounded: <T>(call: () => Promise<T>) => call(), rest: async () => undefined };

  it.each([
    ["normal", null],
    ["ahead of the clock", NOW + DAY],
  ])("finds the submission that it opened, with ids %s", async (_, ahead) => {
    if (ahead !== null) await plantMany(5, ahead, NOW);
    const before = await rows("SELECT id FROM submissions");
    const { id } = opened(await openSubmission(openDatabase(hiding(), retryPolicy), NEW, token(), NOW));
    const after = await rows("SELECT id FROM submissions ORDER BY id");
    expect(after).toHaveLength(before.length + 4);
    // It is the first of the four.
    expect(after.at(-4)?.["id"]).toBe(id);
  });

  it("keeps the key that it claimed", async () => {
    await plantMany(5, NOW + DAY, NOW);
    const { id } = opened(await openKeyedSubmission(openDatabase(hiding(), retryPolicy), NEW, CLAIM, token(), NOW));
    expect((await readIdempotencyKey(db, CLAIM, NOW))?.submission).toBe(id);
  });

  it("opens no second submission if D1 runs the first try late, after others", async () => {
    let takeUp = async (): Promise<void> => undefined;
    let isFirst = true;
    const stalling: D1Database = new Proxy(env.DB, {
      get(target, property) {
        if (property !== "batch" || !isFirst) return Reflect.get(target, property) as unknown;
        return async (statements: D1PreparedStatement[]) => {
          isFirst = false;
          takeUp = async () => void (await target.batch(statements));
          throw new Error("D1_ERROR: Network connection lost.");
        };
      },
    });
    const { id } = opened(await openSubmission(openDatabase(stalling, retryPolicy), NEW, token(), NOW));
    const others = [await openAt(NOW), await openAt(NOW)];
    await takeUp();
    const ids = [id, ...others.map((other) => other.id)].map((each) => ({ id: each }));
    expect(await rows("SELECT id FROM submissions ORDER BY id")).toEqual(ids);
  });

  it("reads only rows since its first try, for any number of ids ahead of the clock", async () => {
    await plantMany(20_000, NOW + DAY, NOW + DAY);
    const { d1, counts } = countedDatabase(hiding());
    await openSubmission(openDatabase(d1, retryPolicy), NEW, token(), NOW);
    expect(Math.max(...counts.map(({ read }) => read))).toBeLessThanOrEqual(40);
  });
});

describe("with 100,000 submissions whose ids are ahead of the clock", () => {
  it.each([
    ["with times ahead too, from a wrong isolate's clock", NOW + DAY],
    ["with normal times, after D1's clock was set back", NOW - HOUR],
  ])("opens submissions and reads keys with equally few rows, %s", async (_, createdAt) => {
    await plantMany(100_000, NOW + DAY, createdAt);
    const { d1, counts } = countedDatabase(env.DB);
    const counted = openDatabase(d1);
    await openAt(NOW, counted);
    await openKeyedSubmission(counted, NEW, CLAIM, token(), NOW);
    await readIdempotencyKey(counted, CLAIM, NOW);
    expect(Math.max(...counts.map(({ read }) => read))).toBeLessThanOrEqual(12);
  });

  it("sweeps and folds them 5,000 at a time, and closes an abandoned one among them", async () => {
    await plantMany(100_000, NOW + DAY, NOW - HOUR);
    const abandoned = await openAt(NOW);
    const now = NOW + 2 * HOUR;
    const times = { now, settledBy: now - 10 * MINUTE, abandonedBefore: now - HOUR, lostBefore: now - 9 * DAY };
    const { d1, counts } = countedDatabase(env.DB);
    const counted = openDatabase(d1);
    for (let sweeps = 0; sweeps < 21; sweeps += 1) await sweepSubmissions(counted, times);
    expect(await rows(`SELECT incomplete FROM submissions WHERE id = '${abandoned.id}'`)).toEqual([{ incomplete: 1 }]);
    counts.length = 0;
    expect(await rollUpTotals(counted, now - HOUR / 2)).toBe(true);
    for (const { statement, read } of counts) expect(read, statement).toBeLessThanOrEqual(40_000);
  });
});

describe("a push whose last activity was by a clock a day ahead", () => {
  it("can be taken over immediately, unlike one active in this minute", async () => {
    const id = await open(db, { closed: false });
    expect(await takeOverPush(db, id, "one", NOW + MINUTE - 1)).toBe(false);
    await env.DB.prepare("UPDATE submissions SET active_at = ?1")
      .bind(NOW + DAY)
      .run();
    expect(await takeOverPush(db, id, "one", NOW)).toBe(true);
    expect(await takeOverPush(db, id, "two", NOW + 1)).toBe(false);
  });

  it("is closed as abandoned by the next sweep", async () => {
    const id = await open(db, { closed: false });
    await releasePush(db, id, null);
    await env.DB.prepare("UPDATE submissions SET active_at = ?1, created_at = ?1")
      .bind(NOW + DAY)
      .run();
    const next = await open(db, { closed: false }, NOW);
    const now = NOW + 20 * MINUTE;
    await sweepSubmissions(db, { now, settledBy: NOW + 10 * MINUTE, abandonedBefore: now - HOUR, lostBefore: 0 });
    expect(await rows("SELECT id, incomplete FROM submissions ORDER BY id")).toEqual([
      { id, incomplete: 1 },
      { id: next, incomplete: 0 },
    ]);
  });
});
