import { drizzle } from "drizzle-orm/d1";
import { DEFAULT_RETRY_POLICY, patientD1, type RetryPolicy } from "./retry-policy.ts";
import { DatabaseUsage, type KnownSize } from "./usage.ts";

const usages = new WeakMap<object, DatabaseUsage>();

/**
 * Drizzle over a D1 binding that retries transient errors. All reads and writes go through it. `size` is updated with
 * every answer that has the size of the database: pass the same one for all databases of an isolate.
 */
export function openDatabase(
  d1: D1Database,
  retryPolicy: RetryPolicy = DEFAULT_RETRY_POLICY,
  size: KnownSize = { bytes: null, at: 0 },
) {
  const usage = new DatabaseUsage(size, retryPolicy.now ?? Date.now);
  const db = drizzle(patientD1(d1, retryPolicy, usage));
  usages.set(db, usage);
  return db;
}

export type Database = ReturnType<typeof openDatabase>;

/**
 * Statements sent to D1 since the database was opened. Each statement of a transaction counts, and so does each retry.
 */
export function countStatements(db: Database): number {
  return usages.get(db)?.statements ?? 0;
}

/**
 * The size of the database in bytes, as D1 reported it with the newest answer; `null` if none has been reported, or none
 * within `maxAgeMs` milliseconds.
 */
export function databaseBytes(db: Database, maxAgeMs = Infinity): number | null {
  return usages.get(db)?.bytesWithin(maxAgeMs) ?? null;
}
