import { drizzle } from "drizzle-orm/d1";
import { DEFAULT_RETRY_POLICY, patientD1, type RetryPolicy, type StatementCounter } from "./retry-policy.ts";

const counters = new WeakMap<object, StatementCounter>();

/** Drizzle over a D1 binding that retries transient errors. All reads and writes go through it. */
export function openDatabase(d1: D1Database, retryPolicy: RetryPolicy = DEFAULT_RETRY_POLICY) {
  const counter: StatementCounter = { statements: 0 };
  const db = drizzle(patientD1(d1, retryPolicy, counter));
  counters.set(db, counter);
  return db;
}

export type Database = ReturnType<typeof openDatabase>;

/**
 * Statements sent to D1 since the database was opened. Each statement of a transaction counts, and so does each retry.
 */
export function countStatements(db: Database): number {
  return counters.get(db)?.statements ?? 0;
}
