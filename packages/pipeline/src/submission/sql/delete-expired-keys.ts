import { sql } from "drizzle-orm";
import { type Database, query } from "@sluice/db";
import { IDEMPOTENCY_KEY_LIFE_MS } from "../lifetimes.ts";

/** Deletes the oldest expired idempotency keys, at most `limit`. Reads as many rows as it deletes. */
export async function deleteExpiredKeys(db: Database, now: number, limit: number): Promise<void> {
  await query(
    db,
    sql`
    DELETE FROM idempotency_keys WHERE (api_key, key) IN (
      SELECT api_key, key FROM idempotency_keys WHERE created_at <= ${now - IDEMPOTENCY_KEY_LIFE_MS}
      ORDER BY created_at LIMIT ${limit})`,
  );
}
