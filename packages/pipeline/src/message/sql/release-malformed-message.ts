import { and, eq, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { malformedMessages, query, transact, type Database } from "@sluice/db";
import type { MalformedKey } from "./read-malformed-messages.ts";

/** Deletes a quarantined message. A repeated call changes nothing. */
export async function dropMalformedMessage(db: Database, { queue, id }: MalformedKey): Promise<void> {
  const isKey = and(eq(malformedMessages.queue, queue), eq(malformedMessages.messageId, id));
  await query(db, db.delete(malformedMessages).where(isKey));
}

/**
 * Stages a quarantined body again as a part of a submission, and deletes the message in the same transaction. Returns
 * false if the submission is unknown. A repeated call changes nothing.
 */
export async function restageMalformedMessage(
  db: Database,
  { queue, id }: MalformedKey,
  { submission, part }: { readonly submission: SubmissionId; readonly part: number },
  now: Time,
): Promise<boolean> {
  const known = sql`EXISTS (SELECT 1 FROM submissions WHERE id = ${submission})`;
  const [row] = await transact<{ known: 0 | 1 }>(db, [
    sql`
      INSERT INTO staged_parts (submission_id, part, staged_at, body)
      SELECT ${submission}, ${part}, ${now}, body FROM malformed_messages
      WHERE queue = ${queue} AND message_id = ${id} AND ${known}
      ON CONFLICT DO NOTHING`,
    sql`DELETE FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id} AND ${known}`,
    sql`SELECT ${known} AS known`,
  ]);
  return row?.known === 1;
}
