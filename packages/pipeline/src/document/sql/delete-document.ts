import { sql } from "drizzle-orm";
import type { Time } from "../../platform/clock.ts";
import { type Database, transact } from "@sluice/db";
import { forgetDocuments } from "./forget-documents.ts";

/**
 * Deletes every recorded version of a document: inputs, texts and outcomes. A version that has not ended counts as
 * canceled, and a later answer for it is dropped. Returns the number of deleted versions. A repeated call finds none.
 * Reads rows in proportion to the versions and to the documents that share their rows of texts.
 */
export async function deleteDocument(
  db: Database,
  document: { readonly collection: string; readonly id: string },
  now: Time,
): Promise<number> {
  const versions = sql`
    SELECT collection, document_id, submission_id, contexts_id, contexts_at FROM documents
    WHERE collection = ${document.collection} AND document_id = ${document.id}`;
  return (await transact(db, forgetDocuments(versions, now))).length;
}
