import { utf8Length } from "@sluice/core";

/** A statement that was run, or the statements of a batch, with the sizes of their bound texts in bytes. */
export interface DatabaseCall {
  readonly sql: string;
  readonly bound: readonly number[];
}

interface Prepared {
  readonly statement: D1PreparedStatement;
  readonly sql: string;
  readonly bound: readonly number[];
}

/** Code around each call. `run` executes the call, once or not at all. */
export type AroundCall = <T>(call: DatabaseCall, run: () => Promise<T>) => Promise<T>;

/** A D1 binding whose calls, single statements and batches, all go through `around`. */
export function aroundDatabase(d1: D1Database, around: AroundCall): D1Database {
  const inner = new WeakMap<D1PreparedStatement, Prepared>();
  const call = <T>(prepared: readonly Prepared[], run: () => Promise<T>): Promise<T> => {
    const sql = prepared.map((one) => one.sql.trim().replaceAll(/\s+/g, " ")).join("; ");
    return around({ sql, bound: prepared.flatMap((one) => one.bound) }, run);
  };
  const wrap = (prepared: Prepared): D1PreparedStatement => {
    const { statement, sql } = prepared;
    const wrapped = new Proxy(statement, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== "function") return value;
        const method = value as (...values: unknown[]) => unknown;
        if (property === "bind") {
          return (...values: unknown[]) => {
            const bound = values.map((value) => (typeof value === "string" ? utf8Length(value) : 8));
            return wrap({ statement: method.apply(target, values) as D1PreparedStatement, sql, bound });
          };
        }
        return (...values: unknown[]) => call([prepared], () => method.apply(target, values) as Promise<unknown>);
      },
    });
    inner.set(wrapped, prepared);
    return wrapped;
  };
  return new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => wrap({ statement: target.prepare(sql), sql, bound: [] });
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) => {
          const prepared = statements.map((statement) => inner.get(statement) ?? { statement, sql: "", bound: [] });
          return call(prepared, () => target.batch(prepared.map(({ statement }) => statement)));
        };
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
