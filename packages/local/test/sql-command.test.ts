import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { writeLocalConfigurations } from "../src/configuration.ts";
import { databasePath } from "../src/state-database.ts";
import { migrateState } from "./migrated-state.ts";
import { headed, Shell } from "./shell.ts";

const SQL = fileURLToPath(import.meta.resolve("../src/sql.ts"));
const TIMEOUT_MS = 240_000;
const HARMFUL = /(?!\n)[\p{Cc}\p{Cf}]/u;

let folder: string;
const shell = new Shell();
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-sql-"));
  writeLocalConfigurations(join(folder, "state", "config"), { mode: "instant", tickSeconds: 1, events: true });
  migrateState(join(folder, "state"));
});
afterEach(() => shell.kill());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (line: string) => shell.start(line, folder, { INIT_CWD: folder, SLUICE_STATE: join(folder, "state") });
const sql = async (args: string) => start(`"$node" --no-warnings "${SQL}" ${args}`).ended;

it("sql writes nothing without --write, and explains how to", { timeout: TIMEOUT_MS }, async () => {
  const dropped = await sql('"DROP TABLE pauses"');
  expect(dropped.code).toBe(2);
  expect(dropped.stderr).toContain("it may write: DROP TABLE pauses\n");
  expect(dropped.stderr).toContain("To change the local database, add --write.");
  expect((await sql('"DROP TABLE pauses" --remote')).stderr).toContain(
    "To change the database on Cloudflare, add --write.",
  );
  expect((await sql('"DROP TABLE pauses" --remote --write < /dev/null')).stderr).toContain("Nothing was run.");
  using database = new DatabaseSync(databasePath(join(folder, "state")));
  expect(database.prepare("SELECT count(*) AS n FROM pauses").get()).toEqual({ n: 0 });
});

it("sql reads a table that no migration created", { timeout: TIMEOUT_MS }, async () => {
  expect((await sql('--write "CREATE TABLE mine AS SELECT 7 AS a"')).code).toBe(0);
  expect((await sql(String.raw`$'-- note\nSELECT a FROM mine'`)).stdout).toBe("a\n7\n");
  const refused = await sql('"DELETE FROM mine"');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("it may write: DELETE FROM mine\n")]);
});

it("sql escapes control characters, and JSON keeps its value", { timeout: TIMEOUT_MS }, async () => {
  const hostile = '"SELECT char(27, 8238, 155) || 2 AS a"';
  const table = await sql(hostile);
  expect(table.stdout).toBe("a\n\u{fffd}2\n");
  const json = await sql(`${hostile} --json`);
  expect(json.stdout).not.toMatch(HARMFUL);
  expect(JSON.parse(json.stdout)).toMatchObject([{ results: [{ a: "\u{1b}\u{202e}\u{9b}2" }] }]);
  const quoted = await sql(String.raw`$'SELECT "\u202e\u009b" FROM'`);
  expect(quoted.stderr).toMatch(/^Not run: /);
  expect(quoted.stderr).not.toMatch(HARMFUL);
});

it("sql exits quietly when its reader is gone", { timeout: TIMEOUT_MS }, async () => {
  const many = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30000) SELECT n FROM c";
  const { code, stdout, stderr } = await start(headed(`"${SQL}" "${many}"`, 3)).ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: "n\n1\n2\n" });
  expect(stderr.trimEnd().split("\n")).toEqual([expect.stringMatching(/^\$ wrangler d1 execute sluice --local/)]);
});
