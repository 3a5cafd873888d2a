import type { SQL } from "drizzle-orm";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import type { Database } from "./database.ts";

/*
 * Hand-written statements go to D1 from here. Drizzle binds their values; its own `batch` takes none
 * that was written by hand and has values (0.45).
 */

const dialect = new SQLiteAsyncDialect();

function prepare(db: Database, statement: SQL): D1PreparedStatement {
  const { sql, params } = dialect.sqlToQuery(statement);
  return db.$client.prepare(sql).bind(...params);
}

/** Runs one statement and gives its rows; `Row` is the type that its columns have in the schema. */
export async function query<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const { results } = await prepare(db, statement).all<Row>();
  return results;
}

/** Runs statements as one transaction: all of them, or none. Gives the rows of the last. */
export async function transact<Row>(db: Database, statements: readonly SQL[]): Promise<Row[]> {
  const results = await db.$client.batch<Row>(statements.map((statement) => prepare(db, statement)));
  return results.at(-1)?.results ?? [];
}
