import { sql, type SQL } from "drizzle-orm";
import { type Database, query } from "@sluice/db";

/**
 * A time in milliseconds since the epoch: a number, or an expression that D1 evaluates. Clocks of isolates may be
 * hours apart, and there is one D1: Workers pass `D1_TIME`, or a number that they derived from it.
 */
export type Time = number | SQL;

/** The time of D1's clock. The same throughout one statement. */
export const D1_TIME: SQL = sql.raw("CAST(round(unixepoch('subsec') * 1000) AS INTEGER)");

/** A time this many milliseconds after another. */
export function timeAfter(time: Time, milliseconds: number): Time {
  return typeof time === "number" ? time + milliseconds : sql`(${time} + ${milliseconds})`;
}

/** What a time is now. One statement that reads no row, for an expression only. */
export async function readTime(db: Database, time: Time): Promise<number> {
  if (typeof time === "number") return time;
  const [row] = await query<{ time: number }>(db, sql`SELECT ${time} AS time`);
  if (row === undefined) throw new Error("D1 gave no time");
  return row.time;
}
