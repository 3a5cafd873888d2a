import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { migratedSchema, migrationFiles } from "../src/sql/schema.ts";
import { databasePath } from "../src/state-database.ts";

/** Creates an empty D1 with all migrations in a state folder, as left by an earlier stack. */
export function migrateState(state: string): void {
  mkdirSync(dirname(databasePath(state)), { recursive: true });
  using database = new DatabaseSync(databasePath(state));
  for (const statement of migratedSchema()) database.exec(statement);
  for (const name of migrationFiles()) database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").run(name);
}
