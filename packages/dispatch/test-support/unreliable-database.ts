/** What goes wrong with a call: it never reached D1, or D1 carried it out and the answer was lost. */
export type Fault = "before" | "after";

/** D1's own words for an error that may hide a commit. */
export const LOST = "D1_ERROR: Network connection lost.";

/**
 * A D1 binding whose calls fail as told. A call is a statement that is run, or a batch; `faultOf` is
 * asked with its number from 1 and the SQL of its statements.
 */
export function unreliableDatabase(
  d1: D1Database,
  faultOf: (call: number, sql: string) => Fault | null,
): { d1: D1Database; calls: string[] } {
  const calls: string[] = [];
  const inner = new WeakMap<D1PreparedStatement, { statement: D1PreparedStatement; sql: string }>();
  const risk = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    calls.push(sql.trim().replaceAll(/\s+/g, " "));
    const fault = faultOf(calls.length, sql);
    if (fault === "before") throw new Error(LOST);
    const result = await run();
    if (fault === "after") throw new Error(LOST);
    return result;
  };
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== "function") return value;
        const method = value as (...values: unknown[]) => unknown;
        if (property === "bind") {
          return (...values: unknown[]) => wrap(method.apply(target, values) as D1PreparedStatement, sql);
        }
        return (...values: unknown[]) => risk(sql, () => method.apply(target, values) as Promise<unknown>);
      },
    });
    inner.set(wrapped, { statement, sql });
    return wrapped;
  };
  const unreliable = new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => wrap(target.prepare(sql), sql);
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) => {
          const known = statements.map((statement) => inner.get(statement) ?? { statement, sql: "" });
          return risk(known.map(({ sql }) => sql).join(";\n"), () =>
            target.batch(known.map(({ statement }) => statement)),
          );
        };
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { d1: unreliable, calls };
}
