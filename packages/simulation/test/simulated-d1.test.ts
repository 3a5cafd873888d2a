import { describe, expect, it } from "vitest";
import { simulatedD1 } from "../src/d1/simulated-d1.ts";
import { Sqlite } from "../src/d1/sqlite.ts";
import type { Change } from "../src/checks/changes.ts";

function open() {
  const sqlite = new Sqlite();
  const changes: Change[] = [];
  const refused: string[] = [];
  const d1 = simulatedD1(
    sqlite,
    async (_, work) => work(),
    (message) => refused.push(message),
    (reported) => changes.push(...reported),
  );
  return { sqlite, d1, changes, refused };
}

const PAUSE = "INSERT INTO pauses (scope, reason, since) VALUES (?, 'requested', ?)";

describe("the simulated D1", () => {
  it("binds every number as REAL, so an integer does not convert to integer text", async () => {
    const row = await open().d1.prepare("SELECT typeof(?1) AS type, CAST(?1 AS TEXT) AS text").bind(1).first();
    expect(row).toEqual({ type: "real", text: "1.0" });
  });

  it("refuses values that D1 does not support", () => {
    const statement = open().d1.prepare("SELECT ?");
    expect(() => statement.bind(undefined)).toThrow("D1_TYPE_ERROR");
    expect(() => statement.bind(1n)).toThrow("D1_TYPE_ERROR");
  });

  it("returns rows as objects, and as arrays from raw", async () => {
    const statement = open().d1.prepare("SELECT 1 AS a, 2 AS a");
    expect((await statement.all()).results).toEqual([{ a: 2 }]);
    expect(await statement.raw()).toEqual([[1, 2]]);
  });

  it.each([
    ["a hundred parameters", `SELECT ${Array.from({ length: 101 }, (_, index) => `?${index + 1}`).join(" || ")}`],
    ["a statement of 100,000 bytes", `SELECT '${"a".repeat(100_000)}'`],
    ["a compound SELECT of five terms", Array.from({ length: 6 }, () => "SELECT 1").join(" UNION ALL ")],
    ["a hundred columns", `SELECT ${Array.from({ length: 101 }, (_, index) => `1 AS c${index}`).join(", ")}`],
    ["an expression of depth 100", `SELECT ${"(1 + ".repeat(101)}1${")".repeat(101)}`],
    ["a LIKE pattern of 50 bytes", `SELECT 'a' LIKE '${"%".repeat(51)}'`],
    ["a value of 2,000,000 bytes", "SELECT zeroblob(2000001)"],
  ])("refuses more than %s", async (_, sql) => {
    await expect(open().d1.prepare(sql).all()).rejects.toThrow("D1_ERROR");
  });

  it("rolls back the whole batch if one statement fails, and reports no change", async () => {
    const { d1, sqlite, changes, refused } = open();
    const statement = d1.prepare(PAUSE);
    await expect(d1.batch([statement.bind("all", 1), statement.bind("all", 2)])).rejects.toThrow(
      "UNIQUE constraint failed",
    );
    expect(sqlite.rows("SELECT * FROM pauses")).toEqual([]);
    expect(changes).toEqual([]);
    expect(refused).toHaveLength(1);
  });

  it("reports every row that a committed batch changed", async () => {
    const { d1, changes } = open();
    await d1.batch([
      d1.prepare(PAUSE).bind("all", 1),
      d1.prepare("UPDATE pauses SET reason = 'daily_limit'"),
      d1.prepare("DELETE FROM pauses"),
    ]);
    expect(changes).toEqual([
      ["pauses", "insert", "all", "requested", null],
      ["pauses", "update", "all", "daily_limit", null],
      ["pauses", "delete", "all", "daily_limit", null],
    ]);
  });
});
