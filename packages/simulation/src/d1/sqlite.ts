import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Change } from "../checks/changes.ts";
import { auditSql } from "./audit.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");

/** D1's limits, from its documentation. */
const LIMITS = {
  length: 2_000_000,
  sqlLength: 100_000,
  compoundSelect: 5,
  column: 100,
  likePatternLength: 50,
  exprDepth: 100,
  variableNumber: 100,
};

const SIZE =
  "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size";

interface Compiled {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

/** Returns the text to use for a file. A mutation breaks a migration this way. */
export type Patch = (path: string, text: string) => string;

export interface Execution {
  readonly rows: readonly unknown[];
  readonly changes: number;
  readonly lastRowId: number;
}

/**
 * A migrated in-memory SQLite with D1's limits. It reports every row that a committed transaction changed. It caches
 * compiled statements, so that one database serves many seeds.
 */
export class Sqlite {
  readonly #db = new DatabaseSync(":memory:", { limits: LIMITS });
  readonly #statements = new Map<string, Compiled>();
  readonly #tables: readonly string[];
  #changes: Change[] = [];
  /** The clock behind `unixepoch('subsec')`, in milliseconds since the epoch. */
  now: () => number = Date.now;

  /** `further`: SQL that creates tables besides those of the migrations. */
  constructor(patch: Patch = (_, text) => text, further: readonly string[] = []) {
    const files = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
    for (const name of files.toSorted()) {
      this.#db.exec(patch(`migrations/${name}`, readFileSync(join(MIGRATIONS, name), "utf8")));
    }
    for (const sql of further) this.#db.exec(sql);
    const tables = this.#db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    this.#tables = tables.map((table) => String(table["name"]));
    this.#db.function("report", { varargs: true }, (...values) => {
      this.#changes.push(values as unknown as Change);
      return null;
    });
    this.#db.exec(auditSql(this.#db));
    this.#db.function("unixepoch", { varargs: true }, (...values) => {
      if (values.join() !== "subsec") throw new Error("only unixepoch('subsec') uses the simulated clock");
      return this.now() / 1_000;
    });
  }

  /** Empties every table. */
  clear(): void {
    for (const table of this.#tables) this.#db.exec(`DELETE FROM ${table}`);
    this.#changes = [];
  }

  /** Runs statements as one transaction. Returns the result of each, and every changed row. */
  transact(
    statements: readonly {
      readonly sql: string;
      readonly values: readonly SQLInputValue[];
      readonly arrays?: boolean;
    }[],
  ): {
    readonly executions: readonly Execution[];
    readonly changes: readonly Change[];
  } {
    this.#changes = [];
    this.#db.exec("BEGIN");
    try {
      const executions = statements.map(({ sql, values, arrays = false }) => this.#execute(sql, values, arrays));
      this.#db.exec("COMMIT");
      return { executions, changes: this.#changes };
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    } finally {
      this.#changes = [];
    }
  }

  /** The size in bytes without free pages, as D1 reports it. */
  bytes(): number {
    const { bytes } = this.rows(SIZE)[0] ?? {};
    return Number(bytes);
  }

  /** Reads rows for the checks. These reads are neither counted nor reported. */
  rows(sql: string, ...values: readonly SQLInputValue[]): Record<string, unknown>[] {
    const { statement } = this.#compile(sql);
    statement.setReturnArrays(false);
    return statement.all(...values);
  }

  #execute(sql: string, values: readonly SQLInputValue[], arrays: boolean): Execution {
    const { statement, returnsRows } = this.#compile(sql);
    if (!returnsRows) {
      const { changes, lastInsertRowid } = statement.run(...values);
      return { rows: [], changes: Number(changes), lastRowId: Number(lastInsertRowid) };
    }
    statement.setReturnArrays(arrays);
    return { rows: statement.all(...values), changes: 0, lastRowId: 0 };
  }

  #compile(sql: string): Compiled {
    let compiled = this.#statements.get(sql);
    if (compiled === undefined) {
      const statement = this.#db.prepare(sql);
      compiled = { statement, returnsRows: statement.columns().length > 0 };
      this.#statements.set(sql, compiled);
    }
    return compiled;
  }
}
