import type { SQLWrapper } from "drizzle-orm";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import type { Database } from "./database.ts";
import { batchTries } from "./retry-policy.ts";

/*
 * Statements are sent to D1 here: hand-written ones, and writes that Drizzle's query builder built. Drizzle binds their
 * values. Its own `batch` accepts no hand-written statement with values (0.45), and the message of an error that it throws
 * contains the values.
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

/** The same, but returns the rows of each. */
export async function transactAll<Row>(db: Database, statements: readonly SQLWrapper[]): Promise<Row[][]> {
  const results = await db.$client.batch<Row>(statements.map((statement) => prepare(db.$client, statement)));
  return results.map((result) => result.results);
}

/**
 * The same for statements that differ between attempts. `build` receives the milliseconds since the first attempt
 * began, and `null` for the first attempt.
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
