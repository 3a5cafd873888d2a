import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../configuration.ts";
import { readAnswer } from "../table.ts";
import { executeSql, type Target } from "./execute.ts";

/** Wrangler's own record of the migrations it applied. */
const WRANGLER_TABLE = "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT, applied_at TIMESTAMP)";

const MIGRATIONS = join(ROOT, "migrations");

/** The files of this checkout's migrations, in order. */
export function migrationFiles(): string[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
}

/** The schema that this checkout's migrations make. */
export function migratedSchema(): string[] {
  return [...migrationFiles().map((file) => readFileSync(join(MIGRATIONS, file), "utf8")), WRANGLER_TABLE];
}

/** Tables before the views on them. SQLite makes its own `sqlite_` tables itself. */
const SCHEMA =
  "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, rowid";

/** The schema that a database has; `null` where it cannot be read. */
export function readSchema(target: Target): string[] | null {
  const { output, code } = executeSql(`--command=${SCHEMA}`, target);
  const [rows = null] = code === 0 ? (readAnswer(output) ?? []) : [];
  return rows?.flatMap(({ sql }) => (typeof sql === "string" ? [sql] : [])) ?? null;
}
