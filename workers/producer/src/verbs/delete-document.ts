import { err, ok, type Result } from "@sluice/core";
import { deleteDocument as forget } from "@sluice/pipeline/document/sql/delete-document.ts";
import type { Reader } from "../context.ts";
import { allowsCollection } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { DOCUMENT_NOT_FOUND, type DocumentKey } from "./get-document.ts";

/** Deletes all versions of a document. Versions that have not ended count as canceled, and their answers are dropped. */
export async function deleteDocument(
  { db, databaseTime }: Reader,
  { key, collection, id }: DocumentKey,
): Promise<Result<{ readonly deleted: number }, Problem>> {
  const deleted = allowsCollection(key, collection) ? await forget(db, { collection, id }, databaseTime()) : 0;
  return deleted === 0 ? err(DOCUMENT_NOT_FOUND) : ok({ deleted });
}
