import { sql } from "drizzle-orm";
import { type Database, query, transact } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";
import type { MalformedKey } from "./read-malformed-messages.ts";

const KEY = columns("queue", "id");

/** The next quarantined messages by key, without their bodies. */
export async function listMalformedKeys(
  db: Database,
  after: MalformedKey | null,
  limit: number,
): Promise<MalformedKey[]> {
  const { queue, id } = after ?? { queue: "", id: "" };
  return query(
    db,
    sql`
    SELECT queue, message_id AS id FROM malformed_messages WHERE (queue, message_id) > (${queue}, ${id})
    ORDER BY queue, message_id LIMIT ${limit}`,
  );
}

/** Deletes those of these quarantined messages that were received before a time. */
export async function deleteOldMessages(
  db: Database,
  messages: readonly MalformedKey[],
  before: number,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const key = KEY.row(sql`n.value`);
  await transact(db, [
    sql`
      DELETE FROM malformed_messages WHERE received_at < ${before} AND (queue, message_id) IN (
        SELECT ${key("queue")}, ${key("id")} FROM json_each(${JSON.stringify(messages.map((one) => KEY.list(one)))}) n)`,
    moveRetention(move, now),
  ]);
}
