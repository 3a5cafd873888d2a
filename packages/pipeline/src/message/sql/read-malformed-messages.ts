import { and, eq, sql } from "drizzle-orm";
import { malformedMessages, query, type Database } from "@sluice/db";

/** The key of a quarantined message. */
export interface MalformedKey {
  readonly queue: string;
  readonly id: string;
}

export interface MalformedRow extends MalformedKey {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly bytes: number;
  /** The first 400 characters of the body, which include the name of its submission. */
  readonly head: string;
}

/** Lists quarantined messages by queue and id, after a key. Reads as many rows as it returns. */
export async function listMalformedMessages(
  db: Database,
  after: MalformedKey | null,
  limit: number,
): Promise<MalformedRow[]> {
  const { queue, messageId, reason, receivedAt, body } = malformedMessages;
  return db
    .select({
      queue,
      id: messageId,
      reason,
      receivedAt,
      bytes: sql<number>`length(CAST(${body} AS BLOB))`,
      head: sql<string>`substr(${body}, 1, 400)`,
    })
    .from(malformedMessages)
    .where(after === null ? undefined : sql`(${queue}, ${messageId}) > (${after.queue}, ${after.id})`)
    .orderBy(queue, messageId)
    .limit(limit);
}

/** The body of a quarantined message; `null` if it is not quarantined, or no longer. */
export async function readMalformedBody(db: Database, { queue, id }: MalformedKey): Promise<string | null> {
  const [row] = await db
    .select({ body: malformedMessages.body })
    .from(malformedMessages)
    .where(and(eq(malformedMessages.queue, queue), eq(malformedMessages.messageId, id)));
  return row?.body ?? null;
}

/** Counts quarantined messages, up to `limit`. */
export async function countMalformedMessages(db: Database, limit: number): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM (SELECT 1 FROM malformed_messages LIMIT ${limit})`,
  );
  return row?.count ?? 0;
}
