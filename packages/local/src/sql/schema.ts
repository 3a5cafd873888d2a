import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../configuration.ts";
import { readAnswer } from "../table.ts";
import { executeSql, type Target } from "./execute.ts";

/** Wrangler's own table of applied migrations. */
const WRANGLER_TABLE = "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT, applied_at TIMESTAMP)";

const MIGRATIONS = join(ROOT, "migrations");

/** The migration files of this checkout, in order. */
export function migrationFiles(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
}

/** The schema that this checkout's migrations create. */
export function migratedSchema(): string[] {
  return [...migrationFiles().map((file) => readFileSync(join(MIGRATIONS, file), "utf8")), WRANGLER_TABLE];
}

/** Tables come before the views on them. SQLite creates its own `sqlite_` tables itself. */
const SCHEMA =
  "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, rowid";

/** The schema of a database; `null` if it cannot be read. */
export function readSchema(target: Target): string[] | null {
  const { output, code } = executeSql(`--command=${SCHEMA}`, target);
  const [rows = null] = code === 0 ? (readAnswer(output) ?? []) : [];
  return rows?.flatMap(({ sql }) => (typeof sql === "string" ? [sql] : [])) ?? null;
}
