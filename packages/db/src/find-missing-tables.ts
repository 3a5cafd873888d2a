import { getTableName, getViewName, isTable, isView, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import * as upkeep from "./schema-upkeep.ts";
import * as schema from "./schema.ts";
import { query } from "./statements.ts";
import * as views from "./views.ts";

const NAMES = [
  ...Object.values({ ...schema, ...upkeep }).flatMap((one) => (isTable(one) ? [getTableName(one)] : [])),
  ...Object.values(views).flatMap((one) => (isView(one) ? [getViewName(one)] : [])),
].toSorted();

/** The names of tables and views that the migrations create and the database lacks. */
export async function findMissingTables(db: Database): Promise<string[]> {
  const rows = await query<{ name: string }>(db, sql`SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')`);
  const found = new Set(rows.map(({ name }) => name));
  return NAMES.filter((name) => !found.has(name));
}
