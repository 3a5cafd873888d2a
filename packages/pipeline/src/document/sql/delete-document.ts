import { sql } from "drizzle-orm";
import type { Time } from "../../platform/clock.ts";
import { type Database, transact } from "@sluice/db";
import { isSameDocument } from "./is-document.ts";

/**
 * Deletes every version of a document: inputs and outcomes. A version that has not ended counts as canceled, and a
 * later answer for it is dropped. Returns the number of deleted versions. A repeated call finds none. Reads rows in
 * proportion to the versions.
 */
export async function deleteDocument(
  db: Database,
  document: { readonly collection: string; readonly id: string },
  now: Time,
): Promise<number> {
  const key = sql`document_id = ${document.id} AND collection = ${document.collection}`;
  const removed = await transact(db, [
    sql`
      UPDATE submissions SET canceled = canceled + 1,
        completed_at = CASE WHEN closed_at IS NOT NULL AND succeeded + failed + canceled + 1 + lost = total
          THEN ${now} END
      WHERE id IN (
        SELECT d.submission_id FROM documents d WHERE ${key}
          AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE ${isSameDocument(sql`o`, sql`d`)}))`,
    sql`
      UPDATE contexts SET texts = json_replace(texts, (
        SELECT '$[' || d.contexts_at || ']' FROM documents d WHERE ${key} AND d.contexts_id = contexts.id), NULL)
      WHERE id IN (SELECT d.contexts_id FROM documents d WHERE ${key})`,
    sql`DELETE FROM outcomes WHERE ${key}`,
    sql`DELETE FROM documents WHERE ${key} RETURNING submission_id`,
  ]);
  return removed.length;
}
