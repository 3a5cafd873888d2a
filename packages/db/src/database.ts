import { drizzle } from "drizzle-orm/d1";
import { PATIENT, patientD1, type Patience, type StatementCounter } from "./patience.ts";

const counters = new WeakMap<object, StatementCounter>();

/** Drizzle over a D1 binding that bears with passing errors. Everything here reads and writes through it. */
export function openDatabase(d1: D1Database, patience: Patience = PATIENT) {
  const counter: StatementCounter = { statements: 0 };
  const db = drizzle(patientD1(d1, patience, counter));
  counters.set(db, counter);
  return db;
}

export type Database = ReturnType<typeof openDatabase>;

/** Statements that D1 was asked to run since the database was opened; those of a transaction count one by one, and so do retries. */
export function countStatements(db: Database): number {
  return counters.get(db)?.statements ?? 0;
}
