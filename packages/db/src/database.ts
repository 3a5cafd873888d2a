import { drizzle } from "drizzle-orm/d1";
import * as schema from "./schema.ts";

/** Drizzle over a D1 binding. Everything here reads and writes through it. */
export function openDatabase(d1: D1Database) {
  return drizzle(d1, { schema });
}

export type Database = ReturnType<typeof openDatabase>;
