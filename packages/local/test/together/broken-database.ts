import type { Together } from "./stack.ts";

const ASIDE = "aside_";
/** What D1 says where a connection is lost, and then says here: of the table that a view wants. */
const LOST = "Network connection lost.";

/**
 * Does something while every statement of the Workers fails, and mends the database. `broken`: their
 * tables are gone, and that does not pass by itself. `lost`: in place of each is a view of nothing, whose
 * error reads as the one of a lost connection.
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
