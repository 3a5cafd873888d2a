import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { submissions, transact, type Database } from "@sluice/db";

/** A part that is about to be sent. */
export interface SentPart {
  readonly part: number;
  readonly hash: string;
}

/**
 * Raises the number of documents that a submission has sent, before they are sent. `total` only rises. `sent` are the
 * parts that a resumed push must send unchanged. They are stored until the push is closed. Returns whether the caller
 * still holds the push: false if it was closed or taken over.
 */
export async function raiseTotal(
  db: Database,
  id: SubmissionId,
  total: number,
  now: Time,
  holder: string | null = null,
  sent: readonly SentPart[] = [],
): Promise<boolean> {
  const held = sql`id = ${id} AND closed_at IS NULL AND holder IS ${holder}`;
  const [first] = sent;
  const hashes = JSON.stringify(Object.fromEntries(sent.map(({ part, hash }) => [part, hash])));
  const keep =
    first === undefined
      ? []
      : [
          sql`
          INSERT INTO sent_parts (submission_id, part, hashes)
          SELECT id, ${first.part}, ${hashes} FROM submissions WHERE ${held}
          ON CONFLICT DO UPDATE SET hashes = json_patch(hashes, excluded.hashes)`,
        ];
  const rows = await transact(db, [
    ...keep,
    db
      .update(submissions)
      .set({ total: sql`max(${submissions.total}, ${total})`, activeAt: now })
      .where(held)
      .returning({ id: submissions.id }),
  ]);
  return rows.length > 0;
}
