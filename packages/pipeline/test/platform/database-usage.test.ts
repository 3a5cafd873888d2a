import { env } from "cloudflare:test";
import { databaseBytes, isDatabaseFull, isTransient, openDatabase, query, takeRows, transact } from "@sluice/db";
import { sql } from "drizzle-orm";
import { expect, it } from "vitest";
import { impatient } from "../../test-support/index.ts";

const insert = (name: string) => sql`INSERT INTO alerts (name, since) VALUES (${name}, 0)`;

it("knows the size that D1 reported with the newest statement or transaction", async () => {
  const db = openDatabase(env.DB, impatient);
  expect(databaseBytes(db)).toBeNull();
  await query(db, insert("a"));
  const before = databaseBytes(db) ?? 0;
  expect(before).toBeGreaterThan(0);
  await transact(db, [insert("b"), insert("x".repeat(200_000))]);
  expect(databaseBytes(db)).toBeGreaterThanOrEqual(before + 200_000);
  const { meta } = await env.DB.prepare("SELECT 1").all();
  expect(databaseBytes(db)).toBe(meta.size_after);
});

it("shares the size between the databases of an isolate, and forgets it with its age", async () => {
  const clock = { now: 1_000 };
  const size = { bytes: null, at: 0 };
  const open = () => openDatabase(env.DB, { ...impatient, now: () => clock.now }, size);
  await query(open(), insert("a"));
  const other = open();
  clock.now += 60_000;
  expect(databaseBytes(other, 60_000)).toBeGreaterThan(0);
  clock.now += 1;
  expect(databaseBytes(other, 60_000)).toBeNull();
  expect(databaseBytes(other)).toBeGreaterThan(0);
});

it("sums the rows that D1 reports as read and written", async () => {
  const db = openDatabase(env.DB, impatient);
  takeRows();
  await transact(db, [insert("a"), insert("b")]);
  await query(db, sql`SELECT name FROM alerts`);
  expect(takeRows()).toEqual({ read: 2, written: 2 });
});

it("recognizes a full database by D1's message, including inside Drizzle's errors", () => {
  const full = new Error("D1_ERROR: Exceeded maximum DB size: SQLITE_FULL");
  expect(isDatabaseFull(full)).toBe(true);
  expect(isDatabaseFull(new Error("Failed query", { cause: full }))).toBe(true);
  // A retry of the same statement does not help.
  expect(isTransient(full)).toBe(false);
  expect(isDatabaseFull(new Error("D1_ERROR: Network connection lost."))).toBe(false);
  expect(isDatabaseFull("Exceeded maximum DB size")).toBe(false);
});
