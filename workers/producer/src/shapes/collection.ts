import type { CollectionCounts } from "@sluice/pipeline/document/sql/read-collection.ts";
import type { CollectionDeletion } from "@sluice/pipeline/submission/sql/request-deletion.ts";
import * as z from "zod";
import { count, time, timeSchema } from "./time.ts";

/** Versions of documents that are counted at most. */
export const MAX_COUNTED_VERSIONS = 5_000;

/** The deletion of a collection. */
export const deletionSchema = z.strictObject({
  requested_at: timeSchema,
  through: z.string().describe("The submission up to which the collection's documents are deleted; later ones stay."),
  deleted_documents: count.describe("Versions that were deleted so far."),
  completed_at: timeSchema.nullable().describe("Null while it is in progress."),
});
export type DeletionShape = z.infer<typeof deletionSchema>;

/** A collection as every route returns it. */
export const collectionSchema = z.strictObject({
  collection: z.string(),
  counts: z
    .strictObject({ total: count, processing: count, succeeded: count, failed: count, canceled: count })
    .describe(
      "Recorded documents by the status of their newest version; documents in the Queue are not among them. Counted, " +
        `not estimated: of a collection with more than ${MAX_COUNTED_VERSIONS.toLocaleString("en-US")} versions, only the documents of the first ones, by id.`,
    ),
  counted_all: z.boolean().describe("Whether `counts` has all recorded documents."),
  deletion: deletionSchema.nullable().describe("Its last deletion; null if none was requested."),
});
export type CollectionShape = z.infer<typeof collectionSchema>;

export function collectionShape(
  collection: string,
  { versions, ...counts }: CollectionCounts,
  deletion: CollectionDeletion | null,
): CollectionShape {
  const { processing, succeeded, failed, canceled } = counts;
  return {
    collection,
    counts: { total: processing + succeeded + failed + canceled, processing, succeeded, failed, canceled },
    counted_all: versions < MAX_COUNTED_VERSIONS,
    deletion: deletion && deletionShape(deletion),
  };
}

export function deletionShape(deletion: CollectionDeletion): DeletionShape {
  return {
    requested_at: time(deletion.requestedAt),
    through: deletion.through,
    deleted_documents: deletion.deletedDocuments,
    completed_at: time(deletion.completedAt),
  };
}
