import { withTimeout } from "@sluice/core";

/**
 * How D1's passing errors are dealt with, at the binding, so that every statement shares it. All
 * writes here are safe to repeat: an error may hide a commit.
 */
export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly tries: number;
  /** Cuts off a call that takes too long: it rejects, though what it does may still commit. */
  readonly bounded: <T>(call: () => Promise<T>) => Promise<T>;
  /** Milliseconds of which only differences count; `Date.now` where there is none. */
  readonly now?: () => number;
  /** Waits before the next try (1, 2, …). */
  readonly rest: (tried: number) => Promise<void>;
}

/** D1 stalls of 60–80 s are reported, and a query may take 30 s: a call that takes longer is given up. */
const CALL_LIMIT_MS = 35_000;

/** A D1 call that was cut off. Whether it committed is not known. */
export class D1Timeout extends Error {
  override readonly name = "D1Timeout";
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  tries: 4,
  bounded: async (call) =>
    withTimeout(call(), CALL_LIMIT_MS, () => new D1Timeout(`D1 did not answer within ${CALL_LIMIT_MS / 1_000} s`)),
  rest: (tried) => new Promise((resolve) => setTimeout(resolve, 50 * 4 ** tried * (0.5 + Math.random()))),
};

/** What D1 says when it says no for a moment only, from its documentation and from reports. */
const TRANSIENT =
  /network connection lost|caused object to be reset|reset because its code was updated|cannot resolve d1 db due to transient issue|internal error; reference =|overloaded|exceeded timeout|timed out|memory limit|cpu time limit|database is locked/i;

/** An error may be its own cause. */
const MAX_CAUSES = 5;

/** An error and its causes, innermost last; none of a value that is no error. */
export function withCauses(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < MAX_CAUSES; next = next.cause) chain.push(next);
  return chain;
}

/** Whether an error of D1 passes by itself. Drizzle wraps D1's own error, so causes are looked at too. */
export function isTransient(error: unknown): boolean {
  return withCauses(error).some((next) => next instanceof D1Timeout || TRANSIENT.test(next.message));
}

async function withRetries<T>(retryPolicy: RetryPolicy, call: (elapsed: number | null) => Promise<T>): Promise<T> {
  const now = retryPolicy.now ?? Date.now;
  const startedAt = now();
  for (let tried = 1; ; tried += 1) {
    try {
      return await retryPolicy.bounded(() => call(tried === 1 ? null : now() - startedAt));
    } catch (error) {
      if (tried >= retryPolicy.tries || !isTransient(error)) throw error;
      await retryPolicy.rest(tried);
    }
  }
}

const RUNS = new Set<PropertyKey>(["run", "all", "raw", "first"]);
const inner = new WeakMap<D1PreparedStatement, D1PreparedStatement>();

/** Statements that D1 was asked to run, each try of each counted. */
export interface StatementCounter {
  statements: number;
}

function retriedStatement(
  statement: D1PreparedStatement,
  retryPolicy: RetryPolicy,
  counter: StatementCounter,
): D1PreparedStatement {
  const patient = new Proxy(statement, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== "function") return value;
      const method = value as (...values: unknown[]) => unknown;
      if (property === "bind") {
        return (...values: unknown[]) =>
          retriedStatement(method.apply(target, values) as D1PreparedStatement, retryPolicy, counter);
      }
      if (!RUNS.has(property)) return value;
      return (...values: unknown[]) =>
        withRetries(retryPolicy, () => {
          counter.statements += 1;
          return method.apply(target, values) as Promise<unknown>;
        });
    },
  });
  inner.set(patient, statement);
  return patient;
}

/** What a patient binding is made of. */
const made = new WeakMap<
  D1Database,
  { readonly d1: D1Database; readonly retryPolicy: RetryPolicy; readonly counter: StatementCounter }
>();

/**
 * Runs a batch that differs from try to try. `build` is given the milliseconds since the first try began, `null`
 * at the first: only a later one may find what an earlier one committed.
 */
export async function batchTries<T>(
  db: D1Database,
  build: (d1: D1Database, elapsed: number | null) => D1PreparedStatement[],
): Promise<D1Result<T>[]> {
  const parts = made.get(db);
  if (parts === undefined) throw new TypeError("the binding has no retryPolicy");
  return withRetries(parts.retryPolicy, (elapsed) => {
    const statements = build(parts.d1, elapsed);
    parts.counter.statements += statements.length;
    return parts.d1.batch<T>(statements);
  });
}

/** The binding with patience: the same interface, single statements and batches alike. */
export function patientD1(d1: D1Database, retryPolicy: RetryPolicy, counter: StatementCounter): D1Database {
  const patient = new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => retriedStatement(target.prepare(sql), retryPolicy, counter);
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) =>
          withRetries(retryPolicy, () => {
            counter.statements += statements.length;
            return target.batch(statements.map((statement) => inner.get(statement) ?? statement));
          });
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  made.set(patient, { d1, retryPolicy, counter });
  return patient;
}
