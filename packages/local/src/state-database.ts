import { createHash, createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { openDatabase, type Database } from "@sluice/db";
import { LOCAL_DATABASE_ID } from "./configuration.ts";

/** The Durable Object class in which the local runtime stores D1 databases, one file each. */
const OBJECTS = "miniflare-D1DatabaseObject";

/** The path of a state's D1 database. A user's Worker may store other databases beside it. */
export function databasePath(state: string, id = LOCAL_DATABASE_ID): string {
  const key = createHash("sha256").update(OBJECTS).digest();
  const half = (data: string | Buffer) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const name = half(id);
  // A Durable Object's id by name, as workerd computes it: a hash of the name, then a checksum of that hash.
  return join(state, "v3/d1", OBJECTS, `${Buffer.concat([name, half(name)]).toString("hex")}.sqlite`);
}

/** Whether wrangler has recorded all these migrations in a state's D1. */
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
 * Runs operations of `@sluice/db` on a state's migrated D1 while no Sluice Worker runs: before they start or after they
 * have ended, when nothing else can change it.
 */
export async function withStateDatabase<T>(state: string, work: (db: Database) => Promise<T>): Promise<T> {
  const path = databasePath(state);
  if (!existsSync(path)) throw new Error(`There is no database in ${path}`);
  using sqlite = new DatabaseSync(path);
  return await work(openDatabase(d1Over(sqlite)));
}

/** The parts of the D1 binding that the operations use: prepared statements, and `batch` as one transaction. */
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
