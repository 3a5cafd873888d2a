import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../clock.ts";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

/**
 * Sets how many documents a submission has sent, before they are: `total` is a level and only rises.
 * Gives whether the push is still the caller's: false where it was closed, or taken over by another.
 */
export async function raiseTotal(
  db: Database,
  id: SubmissionId,
  total: number,
  now: Time,
  holder: string | null = null,
): Promise<boolean> {
  const rows = await query(
    db,
    sql`
    UPDATE submissions SET total = max(total, ${total}), active_at = ${now}
    WHERE id = ${id} AND closed_at IS NULL AND holder IS ${holder}
    RETURNING id`,
  );
  return rows.length > 0;
}
