import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Deletions of collections. */
export const CLEARING: readonly Mutation[] = [
  mutation(
    "deletion-beyond-request",
    "a deletion takes documents that were pushed after the request",
    "listNextParts",
    "AND id <= ${through} ORDER BY id LIMIT ${WINDOW}`;",
    "ORDER BY id LIMIT ${WINDOW}`;",
  ),
  mutation(
    "deletion-cancels-nothing",
    "a deletion does not cancel what has not ended",
    "cancelNext",
    "WHERE id IN (${unfinished}) AND (",
    "WHERE false AND (",
  ),
  mutation(
    "deletion-leaves-retries",
    "a retry continues in a deleted collection",
    "requestDeletion",
    "sql`DELETE FROM retries WHERE ${deleted}`,",
    "",
  ),
  mutation(
    "deletion-not-extended",
    "a second request during a deletion does not cover newer pushes",
    "requestDeletion",
    "through = max(through, excluded.through),",
    "through = iif(completed_at IS NULL, through, excluded.through),",
  ),
  mutation(
    "recorded-after-deletion",
    "a message that arrives after the deletion of its collection is recorded with its texts",
    "areNew",
    "AND NOT ${isForgotten(sql`s`)}",
    "",
  ),
  mutation(
    "forgotten-arrival-not-canceled",
    "documents that arrive after the deletion of their collection never end",
    "recordForgottenParts",
    "canceled = canceled + counted.count,",
    "",
  ),
  mutation(
    "forgotten-arrival-counted-twice",
    "a message that is repeated after the deletion of its collection counts again",
    "recordForgottenParts",
    "WHERE NOT EXISTS (SELECT 1 FROM parts p WHERE ${isRecorded})`;",
    "WHERE true`;",
  ),
  mutation(
    "resumed-after-deletion",
    "an interrupted push is resumed although its collection was deleted",
    "takeOverPush",
    "AND NOT ${isDeleted(sql`submissions`)}",
    "",
  ),
].map((one) => withKind("clearing", one));
