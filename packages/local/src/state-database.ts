import { createHash, createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { openDatabase, type Database } from "@sluice/db";
import { LOCAL_DATABASE_ID } from "./configuration.ts";

/** The Durable Objects that the local runtime keeps D1 databases in, a file each. */
const OBJECTS = "miniflare-D1DatabaseObject";

/** The file of a state's D1 database. A Worker of one's own may keep databases beside it. */
export function databasePath(state: string, id = LOCAL_DATABASE_ID): string {
  const key = createHash("sha256").update(OBJECTS).digest();
  const half = (data: string | Buffer) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const name = half(id);
  // A Durable Object's id by name, as workerd makes it: the name's half, and one that proves the first.
  return join(state, "v3/d1", OBJECTS, `${Buffer.concat([name, half(name)]).toString("hex")}.sqlite`);
}

/** Whether a state's D1 has all these migrations, as far as wrangler recorded it. */
export function hasMigrations(state: string, names: readonly string[]): boolean {
  const path = databasePath(state);
  if (!existsSync(path)) return false;
  using sqlite = new DatabaseSync(path);
  const isRecorded = sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'd1_migrations'").get() !== undefined;
  if (!isRecorded) return false;
  const applied = new Set(
    sqlite
      .prepare("SELECT name FROM d1_migrations")
      .all()
      .map(({ name }) => name),
  );
  return names.every((name) => applied.has(name));
}

/**
 * Runs operations of `@sluice/db` on a state's migrated D1 while no Worker of Sluice runs: before they
 * start and after they have ended, when nothing of theirs can change meanwhile.
 */
export async function withStateDatabase<T>(state: string, work: (db: Database) => Promise<T>): Promise<T> {
  const path = databasePath(state);
  if (!existsSync(path)) throw new Error(`There is no database in ${path}`);
  using sqlite = new DatabaseSync(path);
  return await work(openDatabase(d1Over(sqlite)));
}

/** The part of D1's binding that the operations use: prepared statements, and `batch` as one transaction. */
function d1Over(sqlite: DatabaseSync): D1Database {
  const run = ({ sql, values }: Statement) => ({ results: sqlite.prepare(sql).all(...values) });
  const statement = (sql: string, values: readonly SQLInputValue[]) => ({
    sql,
    values,
    bind: (...bound: SQLInputValue[]) => statement(sql, bound),
    all: async () => run({ sql, values }),
  });
  return {
    prepare: (sql: string) => statement(sql, []),
    batch: async (statements: readonly Statement[]) => {
      sqlite.exec("BEGIN");
      try {
        const results = statements.map(run);
        sqlite.exec("COMMIT");
        return results;
      } catch (error) {
        sqlite.exec("ROLLBACK");
        throw error;
      }
    },
  } as unknown as D1Database;
}

interface Statement {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}
