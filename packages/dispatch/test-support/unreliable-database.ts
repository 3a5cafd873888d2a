import { utf8Length } from "@sluice/core";

/** What goes wrong with a call: it never reached D1, or D1 carried it out and the answer was lost. */
export type Fault = "before" | "after";

/** D1's own words for an error that may hide a commit. */
const LOST = "D1_ERROR: Network connection lost.";

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

/**
 * A D1 binding whose calls fail as told: `faultOf` is asked with a call's number, from 1, and its SQL.
 * `message` is D1's; by default that of an error which passes.
 */
export function unreliableDatabase(
  d1: D1Database,
  faultOf: (call: number, sql: string) => Fault | null = () => null,
  message = LOST,
): { d1: D1Database; calls: DatabaseCall[] } {
  const calls: DatabaseCall[] = [];
  const inner = new WeakMap<D1PreparedStatement, Prepared>();
  const risk = async <T>(prepared: readonly Prepared[], run: () => Promise<T>): Promise<T> => {
    const sql = prepared.map((one) => one.sql.trim().replaceAll(/\s+/g, " ")).join("; ");
    calls.push({ sql, bound: prepared.flatMap((one) => one.bound) });
    const fault = faultOf(calls.length, sql);
    if (fault === "before") throw new Error(message);
    const result = await run();
    if (fault === "after") throw new Error(message);
    return result;
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
        return (...values: unknown[]) => risk([prepared], () => method.apply(target, values) as Promise<unknown>);
      },
    });
    inner.set(wrapped, prepared);
    return wrapped;
  };
  const unreliable = new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => wrap({ statement: target.prepare(sql), sql, bound: [] });
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) => {
          const prepared = statements.map((statement) => inner.get(statement) ?? { statement, sql: "", bound: [] });
          return risk(prepared, () => target.batch(prepared.map(({ statement }) => statement)));
        };
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { d1: unreliable, calls };
}
