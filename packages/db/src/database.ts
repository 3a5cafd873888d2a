import { drizzle } from "drizzle-orm/d1";
import { PATIENT, patientD1, type Patience } from "./patience.ts";

/** Drizzle over a D1 binding that bears with passing errors. Everything here reads and writes through it. */
export function openDatabase(d1: D1Database, patience: Patience = PATIENT) {
  return drizzle(patientD1(d1, patience));
}

export type Database = ReturnType<typeof openDatabase>;
