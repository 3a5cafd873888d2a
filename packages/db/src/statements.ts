import type { SQL } from "drizzle-orm";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import type { Database } from "./database.ts";
import { batchTries } from "./retry-policy.ts";

/*
 * Hand-written statements are sent to D1 here. Drizzle binds their values; its own `batch` accepts no hand-written
 * statement with values (0.45).
 */

const dialect = new SQLiteAsyncDialect();

function prepare(d1: D1Database, statement: SQL): D1PreparedStatement {
  const { sql, params } = dialect.sqlToQuery(statement);
  return d1.prepare(sql).bind(...params);
}

/** Runs one statement and returns its rows. `Row` has the column types of the schema. */
export async function query<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const { results } = await prepare(db.$client, statement).all<Row>();
  return results;
}

/** Runs statements as one transaction: all of them, or none. Returns the rows of the last. */
export async function transact<Row>(db: Database, statements: readonly SQL[]): Promise<Row[]> {
  return (await transactAll<Row>(db, statements)).at(-1) ?? [];
}

/** The same, but returns the rows of each. */
export async function transactAll<Row>(db: Database, statements: readonly SQL[]): Promise<Row[][]> {
  const results = await db.$client.batch<Row>(statements.map((statement) => prepare(db.$client, statement)));
  return results.map((result) => result.results);
}

/**
 * The same for statements that differ between attempts. `build` receives the milliseconds since the first attempt
 * began, and `null` for the first attempt.
 */
export async function transactTries<Row>(
  db: Database,
  build: (elapsed: number | null) => readonly SQL[],
): Promise<Row[]> {
  const results = await batchTries<Row>(db.$client, (d1, elapsed) =>
    build(elapsed).map((statement) => prepare(d1, statement)),
  );
  return results.at(-1)?.results ?? [];
}
