import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { endQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migratedSchema } from "../src/sql/schema.ts";
import { databasePath, withStateDatabase } from "../src/state-database.ts";

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "sluice-database-"));
  mkdirSync(dirname(databasePath(state)), { recursive: true });
  using database = new DatabaseSync(databasePath(state));
  for (const statement of migratedSchema()) database.exec(statement);
});
afterEach(() => rmSync(state, { recursive: true }));

describe("a state's database", () => {
  it("is found beside those of other Workers that run on the same state", async () => {
    for (const id of ["a", "b", "c", "d"]) new DatabaseSync(databasePath(state, id)).close();
    expect(await withStateDatabase(state, (db) => endQueue(db, Date.now()))).toEqual([]);
  });
});
