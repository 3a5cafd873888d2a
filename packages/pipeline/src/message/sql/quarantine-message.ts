import { sql } from "drizzle-orm";
import { type Database, query } from "@sluice/db";

/** The `queue` of staged parts that cannot be read. Their ids are `SUBMISSION/PART`. */
export const STAGED_PARTS = "staged_parts";

/** Keeps a message that cannot be read, so that a person may. The same message again changes nothing. */
export async function quarantineMessage(
  db: Database,
  message: { readonly queue: string; readonly id: string; readonly reason: string; readonly body: string },
  now: number,
): Promise<void> {
  await query(
    db,
    sql`
    INSERT INTO malformed_messages (queue, message_id, reason, received_at, body)
    VALUES (${message.queue}, ${message.id}, ${message.reason}, ${now}, ${message.body})
    ON CONFLICT DO NOTHING`,
  );
}
