import { noStatement, type Counts } from "./counts.ts";

const originals = new WeakMap<D1PreparedStatement, { statement: D1PreparedStatement; sql: string }>();

/** A D1 binding that adds its calls, and the `meta` of every statement, to `counts()`. */
export function countedD1(d1: D1Database, counts: () => Counts): D1Database {
  const note = (sql: string, { meta }: D1Result): void => {
    const { statements } = counts().d1;
    const counted = (statements[sql] ??= noStatement());
    counted.runs += 1;
    counted.rowsRead += meta.rows_read;
    counted.rowsWritten += meta.rows_written;
    counted.milliseconds += meta.duration;
  };
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const all = async <Row>(): Promise<D1Result<Row>> => {
      counts().d1.calls += 1;
      const result = await statement.all<Row>();
      note(sql, result);
      return result;
    };
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), sql),
      all,
      run: all,
      // `raw` and `first` drop the meta, so rows are read with `all`.
      raw: async () => (await all<Record<string, unknown>>()).results.map((row) => Object.values(row)),
      first: async (column?: string) => {
        const row = (await all<Record<string, unknown>>()).results[0] ?? null;
        return column === undefined ? row : (row?.[column] ?? null);
      },
    } as unknown as D1PreparedStatement;
    originals.set(wrapped, { statement, sql });
    return wrapped;
  };
  return {
    prepare: (sql: string) => wrap(d1.prepare(sql), sql),
    batch: async <Row>(statements: D1PreparedStatement[]) => {
      const known = statements.map((statement) => {
        const original = originals.get(statement);
        if (original === undefined) throw new TypeError("a batch contains a statement that was not prepared here");
        return original;
      });
      counts().d1.calls += 1;
      const results = await d1.batch<Row>(known.map(({ statement }) => statement));
      for (const [index, result] of results.entries()) note(known[index]?.sql ?? "", result);
      return results;
    },
  } as unknown as D1Database;
}
