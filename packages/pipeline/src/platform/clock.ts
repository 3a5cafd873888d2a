import { sql, type SQL } from "drizzle-orm";
import { type Database, query } from "@sluice/db";

/**
 * A time in milliseconds since the epoch: a number, or an expression that D1 evaluates. The clocks of isolates may be
 * hours apart, but there is one D1. So Workers pass `D1_TIME`, or a number derived from it.
 */
export type Time = number | SQL;

/** The time of D1's clock. It is the same throughout one statement. */
export const D1_TIME: SQL = sql.raw("CAST(round(unixepoch('subsec') * 1000) AS INTEGER)");

/** The time this many milliseconds after another. */
export function timeAfter(time: Time, milliseconds: number): Time {
  return typeof time === "number" ? time + milliseconds : sql`(${time} + ${milliseconds})`;
}

/** Returns a time as a number. For an expression, sends one statement that reads no row. */
export async function readTime(db: Database, time: Time): Promise<number> {
  if (typeof time === "number") return time;
  const [row] = await query<{ time: number }>(db, sql`SELECT ${time} AS time`);
  if (row === undefined) throw new Error("D1 did not return its time");
  return row.time;
}
