import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { openDatabase, type Database } from "@sluice/db";

/** Where the local runtime keeps its D1 databases, a file each. */
const FOLDER = "v3/d1/miniflare-D1DatabaseObject";
/** The runtime's own. */
const METADATA = "metadata.sqlite";

/**
 * Runs operations of `@sluice/db` on a state's migrated D1 while no runtime has it open: before the Workers
 * start and after they have ended, when nothing can change meanwhile.
 */
export async function withStateDatabase<T>(state: string, work: (db: Database) => Promise<T>): Promise<T> {
  const folder = join(state, FOLDER);
  const name = readdirSync(folder).find((one) => one.endsWith(".sqlite") && one !== METADATA);
  if (name === undefined) throw new Error(`${folder} holds no database`);
  using sqlite = new DatabaseSync(join(folder, name));
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
