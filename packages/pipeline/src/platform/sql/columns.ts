import { sql, type SQL } from "drizzle-orm";

/** A row of a JSON list in a statement. Returns a column as SQLite's own value, or with `json` as JSON. */
export interface Row<Column extends string> {
  (column: Column): SQL;
  readonly json: (column: Column) => SQL;
}

/**
 * The columns of a JSON list, in their order. A value that is bound is a list and not an object: that is smaller, and
 * SQLite finds a number in it sooner than a name. One definition serves those who write it and those who read it.
 */
export interface Columns<Column extends string> {
  /** A row to be written as JSON. */
  readonly list: (values: Readonly<Record<Column, unknown>>) => unknown[];
  /** The same, of values that are JSON already. */
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
