import { withTimeout } from "@sluice/core";
import type { DatabaseUsage } from "./usage.ts";

/**
 * How to handle D1's transient errors. It applies at the binding, so that every statement shares it. All writes here
 * are safe to repeat: an error may hide a commit.
 */
export interface RetryPolicy {
  /** Maximum tries, including the first. */
  readonly tries: number;
  /** Rejects a call that takes too long, although it may still commit. */
  readonly bounded: <T>(call: () => Promise<T>) => Promise<T>;
  /** A clock in milliseconds; only differences count. `Date.now` by default. */
  readonly now?: () => number;
  /** Waits before the next try (1, 2, …). */
  readonly rest: (tried: number) => Promise<void>;
}

/** Milliseconds. D1 stalls of 60–80 s are reported, and a query may take 30 s, so a longer call is abandoned. */
const CALL_LIMIT_MS = 35_000;

/** A D1 call that exceeded its time limit. It is unknown whether it committed. */
export class D1Timeout extends Error {
  override readonly name = "D1Timeout";
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  tries: 4,
  bounded: async (call) =>
    withTimeout(call(), CALL_LIMIT_MS, () => new D1Timeout(`D1 did not answer within ${CALL_LIMIT_MS / 1_000} s`)),
  rest: (tried) => new Promise((resolve) => setTimeout(resolve, 50 * 4 ** tried * (0.5 + Math.random()))),
};

/** D1's messages for transient errors, from its documentation and from reports. */
const TRANSIENT =
  /network connection lost|caused object to be reset|reset because its code was updated|cannot resolve d1 db due to transient issue|internal error; reference =|overloaded|exceeded timeout|timed out|memory limit|cpu time limit|database is locked/i;

/** D1's message for every write once the database has reached its maximum size. Reads and deletes still work. */
const FULL = /exceeded maximum db size/i;

/** Maximum causes to follow: an error may be its own cause. */
const MAX_CAUSES = 5;

/** An error and its causes, innermost last; empty for a value that is not an error. */
export function withCauses(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < MAX_CAUSES; next = next.cause) chain.push(next);
  return chain;
}

/** Whether a D1 error is transient. Drizzle wraps D1's own error, so causes are checked too. */
export function isTransient(error: unknown): boolean {
  return withCauses(error).some((next) => next instanceof D1Timeout || TRANSIENT.test(next.message));
}

/** Whether D1 refused a write because the database has reached its maximum size. A retry does not help by itself. */
export function isDatabaseFull(error: unknown): boolean {
  return withCauses(error).some((next) => FULL.test(next.message));
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

/** The calls whose answers have what D1 reports about them. */
const REPORTED = new Set<PropertyKey>(["run", "all"]);

function retriedStatement(
  statement: D1PreparedStatement,
  retryPolicy: RetryPolicy,
  usage: DatabaseUsage,
): D1PreparedStatement {
  const patient = new Proxy(statement, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== "function") return value;
      const method = value as (...values: unknown[]) => unknown;
      if (property === "bind") {
        return (...values: unknown[]) =>
          retriedStatement(method.apply(target, values) as D1PreparedStatement, retryPolicy, usage);
      }
      if (!RUNS.has(property)) return value;
      return async (...values: unknown[]) => {
        const answer = await withRetries(retryPolicy, () => {
          usage.statements += 1;
          return method.apply(target, values) as Promise<unknown>;
        });
        if (REPORTED.has(property)) usage.note([answer as D1Result]);
        return answer;
      };
    },
  });
  inner.set(patient, statement);
  return patient;
}

/** The parts of a retrying binding. */
const made = new WeakMap<
  D1Database,
  { readonly d1: D1Database; readonly retryPolicy: RetryPolicy; readonly usage: DatabaseUsage }
>();

/**
 * Runs a batch that differs between tries. `build` receives the milliseconds since the first try began, and
 * `null` for the first try: only a later try may find what an earlier one committed.
 */
export async function batchTries<T>(
  db: D1Database,
  build: (d1: D1Database, elapsed: number | null) => D1PreparedStatement[],
): Promise<D1Result<T>[]> {
  const parts = made.get(db);
  if (parts === undefined) throw new TypeError("the binding has no retryPolicy");
  const results = await withRetries(parts.retryPolicy, (elapsed) => {
    const statements = build(parts.d1, elapsed);
    parts.usage.statements += statements.length;
    return parts.d1.batch<T>(statements);
  });
  parts.usage.note(results);
  return results;
}

/** Wraps the binding with retries, and counts in `usage`: the same interface, for single statements and batches. */
export function patientD1(d1: D1Database, retryPolicy: RetryPolicy, usage: DatabaseUsage): D1Database {
  const patient = new Proxy(d1, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => retriedStatement(target.prepare(sql), retryPolicy, usage);
      if (property === "batch") {
        return async (statements: D1PreparedStatement[]) => {
          const results = await withRetries(retryPolicy, () => {
            usage.statements += statements.length;
            return target.batch(statements.map((statement) => inner.get(statement) ?? statement));
          });
          usage.note(results);
          return results;
        };
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  made.set(patient, { d1, retryPolicy, usage });
  return patient;
}
