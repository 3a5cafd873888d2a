import type { Together } from "./stack.ts";

const ASIDE = "aside_";
/** D1's error for a lost connection, produced here as the error for a missing table of a view. */
const LOST = "Network connection lost.";

/**
 * Runs a function while every statement of the Workers fails, then restores the database. `broken`: the tables are
 * missing, which is a lasting error. `lost`: each table is replaced by a view whose error reads like a lost connection.
 */
export async function withoutDatabase<T>(
  together: Together,
  how: "broken" | "lost",
  during: () => Promise<T>,
): Promise<T> {
  const rows = await together.sql<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
  const tables = rows.map(({ name }) => name).filter((name) => !/^(sqlite|_cf)_/.test(name));
  for (const table of tables) await together.sql(`ALTER TABLE "${table}" RENAME TO "${ASIDE}${table}"`);
  const views = how === "lost" ? tables : [];
  try {
    for (const view of views) await together.sql(`CREATE VIEW "${view}" AS SELECT * FROM "${LOST}"`);
    return await during();
  } finally {
    for (const view of views) await together.sql(`DROP VIEW IF EXISTS "${view}"`);
    for (const table of tables) await together.sql(`ALTER TABLE "${ASIDE}${table}" RENAME TO "${table}"`);
  }
}
