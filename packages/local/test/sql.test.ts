import { describe, expect, it } from "vitest";
import { readSqlArguments } from "../src/sql/arguments.ts";
import { checkStatements } from "../src/sql/check-statements.ts";
import { migratedSchema } from "../src/sql/schema.ts";

const schema = migratedSchema();
const kindOf = (sql: string) => checkStatements(sql, schema).kind;

describe("SQL that only reads", () => {
  it.each([
    "SELECT * FROM best LIMIT 5",
    'select count(*), max(score) from scores where collection = "default"; SELECT 2;',
    "-- note\nSELECT 1",
    "/* note; */ ; SELECT ';DROP TABLE pauses' /* ; DELETE FROM jobs */ -- ; DELETE FROM jobs",
    "WITH c AS (SELECT 1 AS n) SELECT n FROM c",
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c",
    "VALUES (1), (2)",
    "EXPLAIN DELETE FROM pauses",
    "/* ** */ ; -- x\n explain query plan DROP TABLE pauses",
    "PRAGMA table_info(documents)",
    "PRAGMA table_info = documents",
    "PRAGMA USER_VERSION",
    "SELECT name FROM pragma_table_info('jobs')",
    "SELECT sql FROM sqlite_schema",
    "SELECT * FROM d1_migrations",
    "SELECT 1; -- the end",
    "SELECT 1; /* the end",
  ])("runs: %s", (sql) => {
    expect(checkStatements(sql, schema)).toEqual({ kind: "reads" });
  });
});

describe("SQL that may write", () => {
  it.each([
    "DROP TABLE pauses",
    "-- note\nDROP TABLE pauses",
    "SELECT 1; DROP TABLE pauses",
    "SELECT ';' ; /* ; */ DELETE FROM jobs",
    "INSERT INTO pauses (scope, reason, since) VALUES ('all', 'requested', 1) RETURNING scope",
    "REPLACE INTO pauses SELECT * FROM pauses",
    "UPDATE jobs SET dispatch_number = 0",
    "WITH c AS (SELECT 1) DELETE FROM jobs WHERE dispatch_number IN c",
    "WITH c AS (SELECT 1) INSERT INTO pauses SELECT * FROM pauses",
    "CREATE TABLE x (a)",
    "CREATE TEMP TABLE x (a)",
    "CREATE VIEW x AS SELECT 1",
    "ALTER TABLE jobs ADD COLUMN x",
    "VACUUM",
    "VACUUM INTO '/tmp/copy'",
    "REINDEX",
    "REINDEX jobs",
    "ANALYZE",
    "ATTACH 'x' AS y",
    "BEGIN",
    "SAVEPOINT x",
    "PRAGMA user_version = 3",
    "PRAGMA user_version(3)",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA optimize",
    "PRAGMA wal_checkpoint",
    "PRAGMA writable_schema = 1",
    "/* a */ DELETE FROM jobs AS /* b */ explain",
    "-- a\nDELETE FROM jobs AS -- b\n explain",
    "EXPLAIN SELECT 1; DELETE FROM jobs",
  ])("does not run: %s", (sql) => {
    expect(kindOf(sql)).toBe("writes");
  });

  it("is reported as the single statement", () => {
    expect(checkStatements("SELECT 1;\n DROP TABLE pauses; SELECT 2", schema)).toEqual({
      kind: "writes",
      statement: "DROP TABLE pauses;",
    });
  });

  it.each([
    ["SELEC 1", 'near "SELEC": syntax error'],
    ["SELECT 1 FROM nowhere", "no such table: nowhere"],
    ["DELETE FROM nowhere", "no such table: nowhere"],
  ])("reports SQL that does not compile: %s", (sql, reason) => {
    expect(checkStatements(sql, schema)).toEqual({ kind: "unknown", reason });
  });
});

describe("the arguments of sql", () => {
  const read = (...args: string[]) => {
    const call = readSqlArguments(args);
    if (!call.ok) throw new Error(call.error);
    return call.value;
  };

  it.each([
    [["SELECT 1"], "SELECT 1"],
    [["-- note\nSELECT 1"], "-- note\nSELECT 1"],
    [["--note\nSELECT 1", "--json"], "--note\nSELECT 1"],
    [["--", "--json"], "--json"],
    [["--env", "x", "SELECT 1", "--remote"], "SELECT 1"],
    [["-e", "x", "SELECT 1", "--remote"], "SELECT 1"],
    [["SELECT 1", "--env=x", "--remote"], "SELECT 1"],
    [["--command", "-- note\nSELECT 1"], "-- note\nSELECT 1"],
    [["--command=SELECT 1"], "SELECT 1"],
  ])("include the statement: %j", (args, sql) => {
    expect(read(...args)).toMatchObject({ sql, file: null, write: false });
  });

  it("may name an environment of the deployment", () => {
    expect(read("--env", "x", "SELECT 1", "--remote")).toMatchObject({ remote: true, environment: "x", flags: [] });
  });

  it("may name a file, which is not checked", () => {
    expect(read("--file", "x.sql", "--write")).toMatchObject({ sql: null, file: "x.sql", write: true });
  });

  it.each([
    [[]],
    [["--env", "x"]],
    [["SELECT", "1"]],
    [["SELECT 1", "--command=DROP TABLE jobs"]],
    [["SELECT 1", "--file=x.sql"]],
    [["SELECT 1", "--persist-to", "x"]],
    [["SELECT 1", "--remote", "--local"]],
    [["SELECT 1", "--env", "x"]],
    [["-x", "SELECT 1"]],
    [[""]],
  ])("are refused unless they are one text and known options: %j", (args) => {
    expect(readSqlArguments(args).ok).toBe(false);
  });
});
