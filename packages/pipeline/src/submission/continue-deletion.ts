import type { Database } from "@sluice/db";
import { cancelNext } from "./sql/cancel-collection.ts";
import { AFTER_ALL_PARTS, cursorOf, type DeletionCursor } from "./sql/deletion-cursor.ts";
import {
  completeDeletion,
  forgetParts,
  forgetVersions,
  hasStagedParts,
  listNextParts,
  listNextVersions,
} from "./sql/forget-collection.ts";
import type { CollectionDeletion } from "./sql/request-deletion.ts";

/**
 * Maximum documents, and rows of texts, that one step deletes. A row holds about 128 KB, and at most 1 MB; a part has at
 * most some thousand documents, in one row.
 */
const MAX_DELETED_DOCUMENTS = 3_000;
const MAX_DELETED_ROWS = 40;
/** Statements of the largest step. */
export const STEP_STATEMENTS = 14;

export interface DeletionContext {
  readonly db: Database;
  /** Milliseconds since the epoch, by D1's clock. */
  readonly now: () => number;
}

/** How far a deletion has come after some steps, and how many they were. */
export interface ContinuedDeletion {
  readonly deletion: CollectionDeletion;
  readonly steps: number;
}

/**
 * Continues the deletion of a collection for at most `maxSteps` steps of 14 statements each. Several Workers may do so at
 * the same time. The steps cancel the unfinished submissions; delete the documents of their parts in the order in which
 * they were recorded, so that each row of texts is written once; delete the versions whose parts retention has deleted;
 * and end the deletion. Before its end, staged parts must be recorded, without their documents.
 */
export async function continueDeletion(
  context: DeletionContext,
  deletion: CollectionDeletion,
  maxSteps: number,
): Promise<ContinuedDeletion> {
  let state = deletion;
  let steps = 0;
  while (state.completedAt === null && steps < maxSteps) {
    steps += 1;
    const next = await takeStep(context, state, cursorOf(state));
    if (next === null) break;
    state = next;
  }
  return { deletion: state, steps };
}

/** Takes one step. Returns `null` if nothing can be done for now. */
async function takeStep(
  context: DeletionContext,
  deletion: CollectionDeletion,
  at: DeletionCursor,
): Promise<CollectionDeletion | null> {
  const { db } = context;
  const { through } = deletion;
  if (at.canceledThrough < through) return cancelNext(db, deletion, at, context.now());
  if (at.submission < through || at.part < AFTER_ALL_PARTS) {
    const { parts, end } = await listNextParts(db, deletion, at);
    const taken = takeRows(parts, ({ documentCount }) => documentCount);
    const last = taken.at(-1);
    const next = taken.length === parts.length && end !== null ? end : last;
    if (next === undefined) return null;
    const { submission, part } = next;
    return forgetParts(db, deletion, taken, { ...at, submission, part }, context.now());
  }
  if (at.documents === null && (await hasStagedParts(db, deletion))) return null;
  const versions = await listNextVersions(db, deletion, at.documents);
  const taken = takeRows(versions, () => 1);
  const last = taken.at(-1);
  if (last === undefined) return completeDeletion(db, deletion, context.now());
  const { documentId, version } = last;
  const next = { ...at, documents: { documentId, version } };
  if (!taken.some((one) => one.version <= through)) return forgetParts(db, deletion, [], next, context.now());
  return forgetVersions(db, deletion, at.documents, next.documents, next, context.now());
}

/** Takes the first of these that one step may delete: at least one. */
function takeRows<Deletable extends { readonly contexts: number | null }>(
  list: readonly Deletable[],
  documentsOf: (one: Deletable) => number,
): Deletable[] {
  const rows = new Set<number>();
  let documents = 0;
  const end = list.findIndex((one, index) => {
    documents += documentsOf(one);
    if (one.contexts !== null) rows.add(one.contexts);
    return index > 0 && (documents > MAX_DELETED_DOCUMENTS || rows.size > MAX_DELETED_ROWS);
  });
  return list.slice(0, end < 0 ? list.length : end);
}
