import { err, ok, type Result } from "@sluice/core";
import { isKnownCollection } from "@sluice/pipeline/document/sql/read-collection.ts";
import { continueDeletion } from "@sluice/pipeline/submission/continue-deletion.ts";
import { requestDeletion } from "@sluice/pipeline/submission/sql/request-deletion.ts";
import { readNow, type Reader } from "../context.ts";
import { allowsCollection } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { deletionShape, type DeletionShape } from "../shapes/collection.ts";
import { COLLECTION_NOT_FOUND, type CollectionKey } from "./get-collection.ts";

/** Steps of a deletion that a request takes: enough for some thousand documents. The poller takes the others. */
const REQUEST_STEPS = 4;

/**
 * Deletes the documents of a collection up to its newest submission: a few thousand at once, and the poller deletes the
 * others. A request during a deletion extends it.
 */
export async function deleteCollection(
  context: Reader,
  { key, collection }: CollectionKey,
): Promise<Result<DeletionShape, Problem>> {
  const { db } = context;
  if (!allowsCollection(key, collection) || !(await isKnownCollection(db, collection)))
    return err(COLLECTION_NOT_FOUND);
  const now = await readNow(context);
  const requested = await requestDeletion(db, collection, now);
  if (requested === null) return err(COLLECTION_NOT_FOUND);
  const { deletion } = await continueDeletion({ db, now: () => now }, requested, REQUEST_STEPS);
  return ok(deletionShape(deletion));
}
