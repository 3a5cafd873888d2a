import { sql } from "drizzle-orm";
import { type Database, query } from "@sluice/db";

/** Under what a quarantined message is kept. */
export interface MalformedKey {
  readonly queue: string;
  readonly id: string;
}

export interface MalformedRow extends MalformedKey {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly bytes: number;
  /** The first 400 characters of the body, which name its submission. */
  readonly head: string;
}

/** Quarantined messages by queue and id, after a key. Reads as many rows as it gives. */
export async function listMalformedMessages(
  db: Database,
  after: MalformedKey | null,
  limit: number,
): Promise<MalformedRow[]> {
  const from = after === null ? sql`` : sql`WHERE (queue, message_id) > (${after.queue}, ${after.id})`;
  return query<MalformedRow>(
    db,
    sql`
    SELECT queue, message_id AS id, reason, received_at AS receivedAt, length(CAST(body AS BLOB)) AS bytes,
      substr(body, 1, 400) AS head
    FROM malformed_messages ${from} ORDER BY queue, message_id LIMIT ${limit}`,
  );
}

/** The body of a quarantined message; `null`: it is not kept, or not any more. */
export async function readMalformedBody(db: Database, { queue, id }: MalformedKey): Promise<string | null> {
  const [row] = await query<{ body: string }>(
    db,
    sql`SELECT body FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id}`,
  );
  return row?.body ?? null;
}

/** How many messages are quarantined, counted up to `limit`. */
export async function countMalformedMessages(db: Database, limit: number): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM (SELECT 1 FROM malformed_messages LIMIT ${limit})`,
  );
  return row?.count ?? 0;
}
