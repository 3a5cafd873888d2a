import type { SQLInputValue } from "node:sqlite";
import type { Change } from "../checks/changes.ts";
import type { Execution, Sqlite } from "./sqlite.ts";

/**
 * Carries a call to D1 and its answer back, or loses either. `work` runs when the call arrives. Each of the call's
 * `statements` counts towards the invocation's limit.
 */
export type Carry = <T extends readonly Execution[]>(
  label: string,
  work: () => T,
  statements: readonly { readonly sql: string }[],
) => Promise<T>;

/**
 * Creates a D1 binding over SQLite with the methods in use: prepared statements with `all`, `raw`, `run` and `first`,
 * and `batch` as one transaction. Numbers bind as REAL, as in D1. Values that D1 does not accept are refused. `refused`
 * is called with SQLite's own errors, `committed` with changed rows.
 */
export function simulatedD1(
  sqlite: Sqlite,
  carry: Carry,
  refused: (message: string) => void,
  committed: (changes: readonly Change[]) => void,
): D1Database {
  const transact = (statements: readonly Bound[], arrays: boolean): Promise<readonly Execution[]> =>
    carry(
      labelOf(statements),
      () => {
        const done = withD1Errors(
          () => sqlite.transact(statements.map((statement) => ({ ...statement, arrays }))),
          refused,
        );
        committed(done.changes);
        return done.executions;
      },
      statements,
    );

  const resultOf = (execution: Execution) => resultWith(execution, sqlite.bytes());
  const statement = (bound: Bound): D1PreparedStatement => {
    const run = async (): Promise<D1Result> => resultOf(first(await transact([bound], false)));
    const made = {
      bind: (...values: unknown[]) => statement({ sql: bound.sql, values: values.map(toSqlite) }),
      all: run,
      run,
      raw: async () => first(await transact([bound], true)).rows,
      first: async (column?: string) => {
        const row = first(await transact([bound], false)).rows[0] as Record<string, unknown> | undefined;
        if (row === undefined) return null;
        return column === undefined ? row : row[column];
      },
    } as unknown as D1PreparedStatement;
    boundOf.set(made, bound);
    return made;
  };

  return {
    prepare: (sql: string) => statement({ sql, values: [] }),
    batch: async (statements: readonly D1PreparedStatement[]) => {
      const bound = statements.map((one) => {
        const found = boundOf.get(one);
        if (found === undefined) throw new TypeError("this statement was not prepared by the simulated D1");
        return found;
      });
      return (await transact(bound, false)).map(resultOf);
    },
  } as unknown as D1Database;
}

interface Bound {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}
const boundOf = new WeakMap<D1PreparedStatement, Bound>();

function toSqlite(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  throw new Error(`D1_TYPE_ERROR: Type '${typeof value}' not supported for value`);
}

function first(executions: readonly Execution[]): Execution {
  const [execution] = executions;
  if (execution === undefined) throw new Error("a statement returned nothing");
  return execution;
}

function resultWith({ rows, changes, lastRowId }: Execution, bytes: number): D1Result {
  return {
    success: true,
    // Only workerd counts the rows read and written.
    meta: {
      duration: 0,
      changes,
      last_row_id: lastRowId,
      changed_db: changes > 0,
      size_after: bytes,
      rows_read: 0,
      rows_written: 0,
    },
    results: rows as unknown[],
  };
}

function withD1Errors<T>(work: () => T, refused: (message: string) => void): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    refused(error.message);
    throw new Error(`D1_ERROR: ${error.message}: SQLITE_ERROR`, { cause: error });
  }
}

const labels = new Map<string, string>();

/** Labels a call for the trace: the verb and the table of its first statement. */
function labelOf(statements: readonly Bound[]): string {
  const writes = statements.find(({ sql }) => !/^\s*SELECT/i.test(sql)) ?? statements[0];
  if (writes === undefined) return "empty batch";
  let label = labels.get(writes.sql);
  if (label === undefined) {
    const found = /\b(INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)|\b(FROM)\s+"?(\w+)/i.exec(writes.sql);
    label = found === null ? "statement" : `${found[1]?.toUpperCase() ?? "SELECT"} ${found[2] ?? found[4]}`;
    labels.set(writes.sql, label);
  }
  return statements.length > 1 ? `${label} +${statements.length - 1}` : label;
}
