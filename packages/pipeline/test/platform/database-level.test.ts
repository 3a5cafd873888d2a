import { env } from "cloudflare:test";
import { databaseLevels, type DatabaseLevel } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import { levelAfter } from "../../src/platform/database-level.ts";
import { readDatabaseSize, recordDatabaseSize } from "../../src/platform/sql/database-size.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { impatient, NOW } from "../../test-support/index.ts";

const LIMIT = 1_000;

describe("the level of a database", () => {
  it.each([
    [699, "normal"],
    [700, "high"],
    [849, "high"],
    [850, "pressure"],
    [949, "pressure"],
    [950, "full"],
    [2_000, "full"],
  ] as const)("of %i bytes of 1,000 is %s, unless it was full", (bytes, level) => {
    for (const before of databaseLevels.filter((one) => one !== "full"))
      expect(levelAfter(bytes, LIMIT, before)).toBe(level);
  });

  it("stays full until it is below 90 %", () => {
    expect(levelAfter(900, LIMIT, "full")).toBe("full");
    expect(levelAfter(899, LIMIT, "full")).toBe("pressure");
    expect(levelAfter(100, LIMIT, "full")).toBe("normal");
  });
});

describe("the recorded size", () => {
  const { d1, counts } = countedDatabase(env.DB);
  let db: Database;
  beforeEach(() => {
    db = openDatabase(d1, impatient);
    counts.length = 0;
  });
  const record = (bytes: number, now: number, limit = LIMIT) => recordDatabaseSize(db, { bytes, limit }, now);
  const written = () => counts.splice(0).reduce((sum, count) => sum + count.written, 0);

  it("is unknown before the first record", async () => {
    expect(await readDatabaseSize(db, NOW)).toBeNull();
  });

  it("changes with the level at once, and otherwise once a minute", async () => {
    await record(100, NOW);
    expect(written()).toBe(1);
    await record(200, NOW + 59_999);
    expect(written()).toBe(0);
    await record(300, NOW + 60_000);
    expect(written()).toBe(1);
    expect(await readDatabaseSize(db, NOW)).toMatchObject({ bytes: 300, level: "normal", since: NOW });
    await record(960, NOW + 60_001);
    expect(written()).toBe(1);
    expect(await readDatabaseSize(db, NOW)).toMatchObject({ bytes: 960, level: "full", since: NOW + 60_001 });
    await record(910, NOW + 60_002);
    expect(written()).toBe(0);
    await record(890, NOW + 60_003);
    const recorded = { bytes: 890, level: "pressure", since: NOW + 60_003, limit: LIMIT };
    expect(await readDatabaseSize(db, NOW + 60_010)).toEqual({ ...recorded, age: 7 });
  });

  it("changes with the limit at once", async () => {
    await record(960, NOW);
    await record(960, NOW + 1, 10 * LIMIT);
    expect(await readDatabaseSize(db, NOW)).toMatchObject({ level: "normal", limit: 10 * LIMIT, since: NOW + 1 });
  });

  it("follows the same rule as the level, from every level", async () => {
    const sizes: Record<DatabaseLevel, number> = { normal: 1, high: 700, pressure: 850, full: 950 };
    let now = NOW;
    for (const before of databaseLevels)
      for (const bytes of [1, 699, 700, 850, 899, 900, 949, 950]) {
        await env.DB.exec("DELETE FROM database_size");
        await record(sizes[before], now);
        await record(bytes, (now += 60_000));
        expect((await readDatabaseSize(db, now))?.level).toBe(levelAfter(bytes, LIMIT, before));
      }
  });
});
