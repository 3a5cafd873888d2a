import { and, asc, eq, inArray } from "drizzle-orm";
import type { Database } from "./database.ts";
import { best, failures, ranked, scores } from "./views.ts";

/*
 * Queries for other Workers with the same D1 binding: the views, by document. Each reads only the documents asked for.
 * `openDatabase(env.DB)` returns the database.
 */

/** A row of the view `scores`, or of `best`. */
export type ScoreRow = typeof scores.$inferSelect;
/** A row of the view `ranked`. */
export type RankedRow = typeof ranked.$inferSelect;
/** A row of the view `failures`. */
export type FailureRow = typeof failures.$inferSelect;

/** A document's contexts, best first; empty if it has no scores. `limit`: the top K. */
export async function readScores(
  db: Database,
  document: { readonly collection: string; readonly id: string },
  limit = 1_000,
): Promise<ScoreRow[]> {
  return db
    .select()
    .from(scores)
    .where(and(eq(scores.documentId, document.id), eq(scores.collection, document.collection)))
    .orderBy(asc(scores.rank))
    .limit(limit);
}

/**
 * A document's contexts with their texts, best first; empty if it has no scores. `limit`: the top K. Each
 * row repeats the query and the metadata.
 */
export async function readRanked(
  db: Database,
  document: { readonly collection: string; readonly id: string },
  limit = 1_000,
): Promise<RankedRow[]> {
  return db
    .select()
    .from(ranked)
    .where(and(eq(ranked.collection, document.collection), eq(ranked.documentId, document.id)))
    .orderBy(asc(ranked.rank))
    .limit(limit);
}

/** D1 binds at most 100 values per query. */
const MAX_IDS = 90;

/** The best context of each of up to 90 documents, in any order. A document without scores has no row. */
export async function readBest(db: Database, collection: string, ids: readonly string[]): Promise<ScoreRow[]> {
  if (ids.length > MAX_IDS)
    throw new RangeError(`readBest accepts at most ${MAX_IDS} ids at once, but got ${ids.length}`);
  if (ids.length === 0) return [];
  return db
    .select()
    .from(best)
    .where(and(inArray(best.documentId, [...ids]), eq(best.collection, collection)));
}

/** Why a document's newest version failed; `null` if it did not. */
export async function readFailure(
  db: Database,
  document: { readonly collection: string; readonly id: string },
): Promise<FailureRow | null> {
  const [row] = await db
    .select()
    .from(failures)
    .where(and(eq(failures.documentId, document.id), eq(failures.collection, document.collection)));
  return row ?? null;
}
