import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query, transact } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { dropTexts } from "./drop-texts.ts";
import { moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";
import { forgetDeleted, textsOf } from "./forget-versions.ts";
import { isDocument, isSameDocument } from "./is-document.ts";

export interface VersionKey {
  readonly collection: string;
  readonly id: string;
  readonly submission: SubmissionId;
}

const KEY = columns("collection", "id", "submission");

/** The next outcomes by key, and whether each has scores from before a time. Reads as many rows. */
export async function listOutcomes(
  db: Database,
  after: VersionKey | null,
  before: number,
  limit: number,
): Promise<(VersionKey & { readonly isOld: 0 | 1 })[]> {
  const { collection, id, submission } = after ?? { collection: "", id: "", submission: "" };
  return query(
    db,
    sql`
    SELECT collection, document_id AS id, submission_id AS submission,
      status = 'succeeded' AND finalized_at < ${before} AS isOld
    FROM outcomes WHERE (collection, document_id, submission_id) > (${collection}, ${id}, ${submission})
    ORDER BY collection, document_id, submission_id LIMIT ${limit}`,
  );
}

/**
 * Deletes versions that succeeded before a time: inputs, texts, outcomes and scores, also of the newest one. A version stays
 * while an older one would show instead. A repeated call changes nothing. Writes two rows per version.
 */
export async function expireScores(
  db: Database,
  keys: readonly VersionKey[],
  before: number,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const key = KEY.row(sql`n.value`);
  const versions = sql`
    FROM json_each(${JSON.stringify(keys.map((one) => KEY.list(one)))}) n
    CROSS JOIN outcomes o
      ON ${isDocument(sql`o`, { id: key("id"), collection: key("collection"), submission: key("submission") })}`;
  const isOld = sql`
    o.status = 'succeeded' AND o.finalized_at < ${before} AND NOT EXISTS (
      SELECT 1 FROM documents v LEFT JOIN outcomes x ON ${isSameDocument(sql`x`, sql`v`)}
      WHERE v.collection = o.collection AND v.document_id = o.document_id AND v.submission_id < o.submission_id
        AND (x.status IS NOT 'succeeded' OR x.finalized_at >= ${before}))`;
  await transact(db, [
    ...dropTexts(textsOf(versions, isOld)),
    sql`
      DELETE FROM documents WHERE (collection, document_id, submission_id) IN (
        SELECT o.collection, o.document_id, o.submission_id ${versions} WHERE ${isOld})`,
    ...forgetDeleted(versions),
    moveRetention(move, now),
  ]);
}
