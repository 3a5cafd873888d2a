import type { SQLWrapper } from "drizzle-orm";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import type { Database } from "./database.ts";
import { batchTries } from "./retry-policy.ts";

/*
 * Statements are sent to D1 here: hand-written ones, and writes that Drizzle's query builder built. Drizzle binds their
 * values. Drizzle's own `batch` accepts no hand-written statement with values (0.45), and its error messages contain the
 * values.
 */

const dialect = new SQLiteAsyncDialect();

function prepare(d1: D1Database, statement: SQLWrapper): D1PreparedStatement {
  const { sql, params } = dialect.sqlToQuery(statement.getSQL());
  return d1.prepare(sql).bind(...params);
}

/** Runs one statement and returns its rows. `Row` has the column types of the schema. */
export async function query<Row>(db: Database, statement: SQLWrapper): Promise<Row[]> {
  const { results } = await prepare(db.$client, statement).all<Row>();
  return results;
}

/** Runs statements as one transaction: all of them, or none. Returns the rows of the last. */
export async function transact<Row>(db: Database, statements: readonly SQLWrapper[]): Promise<Row[]> {
  return (await transactAll<Row>(db, statements)).at(-1) ?? [];
}

/** Runs statements as one transaction. Returns the rows of each. */
export async function transactAll<Row>(db: Database, statements: readonly SQLWrapper[]): Promise<Row[][]> {
  const results = await db.$client.batch<Row>(statements.map((statement) => prepare(db.$client, statement)));
  return results.map((result) => result.results);
}

/**
 * Runs statements that differ between tries as one transaction. `build` receives the milliseconds since the first
 * try began, and `null` for the first try. Returns the rows of the last.
 */
export async function transactTries<Row>(
  db: Database,
  build: (elapsed: number | null) => readonly SQLWrapper[],
): Promise<Row[]> {
  const results = await batchTries<Row>(db.$client, (d1, elapsed) =>
    build(elapsed).map((statement) => prepare(d1, statement)),
  );
  return results.at(-1)?.results ?? [];
}
