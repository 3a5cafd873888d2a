import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { endQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migrationFiles } from "../src/sql/schema.ts";
import { databasePath, hasMigrations, withStateDatabase } from "../src/state-database.ts";
import { migrateState } from "./migrated-state.ts";

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "sluice-database-"));
  migrateState(state);
});
afterEach(() => rmSync(state, { recursive: true }));

describe("a state's database", () => {
  it("is found beside those of other Workers on the same state", async () => {
    for (const id of ["a", "b", "c", "d"]) new DatabaseSync(databasePath(state, id)).close();
    expect(await withStateDatabase(state, (db) => endQueue(db, Date.now()))).toEqual([]);
  });

  it("has exactly the migrations recorded in it", () => {
    expect(hasMigrations(state, migrationFiles())).toBe(true);
    expect(hasMigrations(state, [...migrationFiles(), "9999_new.sql"])).toBe(false);
    using database = new DatabaseSync(databasePath(state));
    database.exec("DROP TABLE d1_migrations");
    expect(hasMigrations(state, [])).toBe(false);
    expect(hasMigrations(join(state, "other"), [])).toBe(false);
  });
});
