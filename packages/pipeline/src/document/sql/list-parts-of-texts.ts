import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query, transact } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { raiseTextsMark } from "../../platform/sql/high-water-marks.ts";
import { moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";

export interface PartKey {
  readonly submission: SubmissionId;
  readonly part: number;
}

const KEY = columns("submission", "part");

/** The greatest id of a row of texts that does not list its parts; `null` if all do. Reads one row. */
export async function lastUnlistedTexts(db: Database): Promise<number | null> {
  const [row] = await query<{ last: number | null }>(
    db,
    sql`SELECT max(id) AS last FROM contexts INDEXED BY contexts_unlisted WHERE parts IS NULL`,
  );
  return row?.last ?? null;
}

/** The next parts by key. */
export async function listPartKeys(db: Database, after: PartKey | null, limit: number): Promise<PartKey[]> {
  const { submission, part } = after ?? { submission: "", part: 0 };
  return query(
    db,
    sql`
    SELECT submission_id AS submission, part FROM parts WHERE (submission_id, part) > (${submission}, ${part})
    ORDER BY submission_id, part LIMIT ${limit}`,
  );
}

/**
 * Adds parts to the lists of the rows with their texts. A part's texts are in the row that its first remaining document
 * names. Until all parts are added, lists are incomplete, and no texts expire. Writes each row that lacks one of the
 * parts. A repeated call changes nothing.
 */
export async function addPartsToTexts(
  db: Database,
  parts: readonly PartKey[],
  move: RetentionMove,
  now: number,
): Promise<void> {
  const key = KEY.row(sql`n.value`);
  await transact(db, [
    sql`
      WITH found AS MATERIALIZED (
        SELECT p.submission_id AS submission, p.part, (
            SELECT d.contexts_id FROM json_each(p.documents) i
            CROSS JOIN documents d ON d.collection = s.collection AND d.document_id = i.value AND d.submission_id = s.id
              AND d.part = p.part
            LIMIT 1) AS id
        FROM json_each(${JSON.stringify(parts.map((one) => KEY.list(one)))}) n
        CROSS JOIN submissions s ON s.id = ${key("submission")}
        CROSS JOIN parts p ON p.submission_id = s.id AND p.part = ${key("part")}),
      lacking AS MATERIALIZED (
        SELECT t.id, json_group_array(json_array(f.submission, f.part) ORDER BY f.submission, f.part) AS parts
        FROM found f CROSS JOIN contexts t ON t.id = f.id
        WHERE NOT EXISTS (SELECT 1 FROM json_each(t.parts) e WHERE e.value ->> 0 = f.submission AND e.value ->> 1 = f.part)
        GROUP BY t.id)
      UPDATE contexts SET parts = iif(contexts.parts IS NULL, lacking.parts,
        substr(contexts.parts, 1, length(contexts.parts) - 1) || ',' || substr(lacking.parts, 2))
      FROM lacking WHERE contexts.id = lacking.id`,
    moveRetention(move, now, sql`0`),
  ]);
}

/**
 * Ends a pass over all parts: deletes the rows up to `through` that still list none, because every document with texts
 * in them was deleted.
 */
export async function endListing(db: Database, through: number, move: RetentionMove, now: number): Promise<void> {
  await transact(db, [
    sql`DELETE FROM contexts WHERE parts IS NULL AND id <= ${through}`,
    moveRetention(move, now),
    raiseTextsMark(sql`${through}`),
  ]);
}
