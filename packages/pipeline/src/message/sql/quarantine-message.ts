import { malformedMessages, query, type Database } from "@sluice/db";

/** The `queue` of staged parts that cannot be read. Their ids are `SUBMISSION/PART`. */
export const STAGED_PARTS = "staged_parts";

/** Stores an unreadable message, so that a person can inspect it. The same message again changes nothing. */
export async function quarantineMessage(
  db: Database,
  {
    queue,
    id,
    reason,
    body,
  }: { readonly queue: string; readonly id: string; readonly reason: string; readonly body: string },
  now: number,
): Promise<void> {
  await query(
    db,
    db.insert(malformedMessages).values({ queue, messageId: id, reason, receivedAt: now, body }).onConflictDoNothing(),
  );
}
