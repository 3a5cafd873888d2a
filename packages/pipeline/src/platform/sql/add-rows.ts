import { sql } from "drizzle-orm";
import { type Database, query, type rowUsage } from "@sluice/db";

type Worker = (typeof rowUsage.$inferSelect)["worker"];

/** Adds rows that a Worker has read and written to its sum. Writes one row. A repeat after a lost answer adds twice. */
export async function addRows(
  db: Database,
  worker: Worker,
  { read, written }: { readonly read: number; readonly written: number },
): Promise<void> {
  await query(
    db,
    sql`
    INSERT INTO row_usage (worker, rows_read, rows_written)
    VALUES (${worker}, CAST(${read} AS INTEGER), CAST(${written} AS INTEGER))
    ON CONFLICT (worker) DO UPDATE SET rows_read = rows_read + excluded.rows_read,
      rows_written = rows_written + excluded.rows_written`,
  );
}
