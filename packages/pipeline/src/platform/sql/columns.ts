import { sql, type SQL } from "drizzle-orm";

/** A row of a JSON list in a statement. Returns a column as an SQLite value, or as JSON with `json`. */
export interface Row<Column extends string> {
  (column: Column): SQL;
  readonly json: (column: Column) => SQL;
}

/**
 * The columns of a JSON list, in their order. A bound row is a list and not an object: a list is smaller, and SQLite
 * finds a number in it faster than a name. The writer and the reader share one definition.
 */
export interface Columns<Column extends string> {
  /** A row to write as JSON. */
  readonly list: (values: Readonly<Record<Column, unknown>>) => unknown[];
  /** A row to write as JSON, of values that are JSON already. */
  readonly text: (values: Readonly<Record<Column, string>>) => string;
  /** A row that a statement writes. */
  readonly array: (values: Readonly<Record<Column, SQL>>) => SQL;
  /** A row that a statement reads. */
  readonly row: (row: SQL) => Row<Column>;
  /** The path of a column, for `json_each(row, path)`. */
  readonly path: (column: Column) => SQL;
}

export function columns<const Column extends string>(...names: readonly Column[]): Columns<Column> {
  const index = (column: Column) => sql.raw(String(names.indexOf(column)));
  return {
    list: (values) => names.map((name) => values[name]),
    text: (values) => `[${names.map((name) => values[name]).join(",")}]`,
    array: (values) =>
      sql`json_array(${sql.join(
        names.map((name) => values[name]),
        sql`, `,
      )})`,
    row: (row) =>
      Object.assign((column: Column) => sql`${row} ->> ${index(column)}`, {
        json: (column: Column) => sql`${row} -> ${index(column)}`,
      }),
    path: (column) => sql`'$[${index(column)}]'`,
  };
}
