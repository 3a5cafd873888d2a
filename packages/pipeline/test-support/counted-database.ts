/** The rows that D1 bills, by a statement's first words. */
export interface StatementCount {
  readonly statement: string;
  readonly written: number;
  readonly read: number;
}

/** A D1 binding that records `meta.rows_written` and `meta.rows_read` of every statement. */
export function countedDatabase(d1: D1Database): { d1: D1Database; counts: StatementCount[] } {
  const counts: StatementCount[] = [];
  const sqlOf = new WeakMap<D1PreparedStatement, string>();
  const note = (statement: D1PreparedStatement, result: D1Result) => {
    const sql = (sqlOf.get(statement) ?? "").trim().replaceAll(/\s+/g, " ");
    counts.push({ statement: sql, written: result.meta.rows_written, read: result.meta.rows_read });
  };
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    sqlOf.set(statement, sql);
    return new Proxy(statement, {
      get(target, property) {
        if (property === "bind") return (...values: unknown[]) => wrap(target.bind(...values), sql);
        if (property === "run" || property === "all") {
          return async () => {
            const result = await target[property]();
            note(target, result);
            return result;
          };
        }
        if (property === "raw") {
          // `raw` drops the meta, so `all` reads the rows, and the names are dropped here.
          return async () => {
            const result = await target.all();
            note(target, result);
            return result.results.map((row) => Object.values(row));
          };
        }
        if (property === "unwrapped") return target;
        return Reflect.get(target, property) as unknown;
      },
    });
  };
  const counted = new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => wrap(target.prepare(sql), sql);
      if (property === "batch") {
        return async (statements: (D1PreparedStatement & { unwrapped: D1PreparedStatement })[]) => {
          const inner = statements.map((statement) => statement.unwrapped);
          const results = await target.batch(inner);
          for (const [index, result] of results.entries()) note(inner[index] as D1PreparedStatement, result);
          return results;
        };
      }
      return Reflect.get(target, property) as unknown;
    },
  });
  return { d1: counted, counts };
}
