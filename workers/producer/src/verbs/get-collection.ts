import { err, ok, type Result } from "@sluice/core";
import { countDocuments, isKnownCollection } from "@sluice/pipeline/document/sql/read-collection.ts";
import { readDeletion } from "@sluice/pipeline/submission/sql/request-deletion.ts";
import type { ApiContext } from "../context.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { collectionShape, MAX_COUNTED_VERSIONS, type CollectionShape } from "../shapes/collection.ts";

export interface CollectionKey {
  readonly key: ApiKey;
  readonly collection: string;
}

export const COLLECTION_NOT_FOUND: Problem = {
  name: "not-found",
  detail: "This collection has no recorded document and no recent submission, and was not deleted.",
};

/** Counts a collection's documents, and reads the progress of its deletion. */
export async function getCollection(
  { db }: Pick<ApiContext, "db">,
  { key, collection }: CollectionKey,
): Promise<Result<CollectionShape, Problem>> {
  if (!allowsCollection(key, collection)) return err(COLLECTION_NOT_FOUND);
  const counts = await countDocuments(db, collection, MAX_COUNTED_VERSIONS);
  const deletion = await readDeletion(db, collection);
  if (counts.versions === 0 && deletion === null && !(await isKnownCollection(db, collection)))
    return err(COLLECTION_NOT_FOUND);
  return ok(collectionShape(collection, counts, deletion));
}
