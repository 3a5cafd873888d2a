import { sql, type SQL } from "drizzle-orm";
import { type Database, query, transact } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import type { RetentionLimits } from "../../submission/retention-rules.ts";
import { submissionIdAt } from "../../submission/sql/open-submission.ts";
import { moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";
import { dropTexts } from "./drop-texts.ts";
import { isSameDocument } from "./is-document.ts";
import type { PartKey } from "./list-parts-of-texts.ts";

const KEY = columns("submission", "part");
const isKey = (row: SQL) => {
  const key = KEY.row(row);
  return sql`p.submission_id = ${key("submission")} AND p.part = ${key("part")}`;
};

export interface OldPart extends PartKey {
  readonly documentCount: number;
  readonly recordedAt: number;
}

/** The next parts by key, of submissions opened before a time. Reads as many rows. */
export async function listOldParts(
  db: Database,
  after: PartKey | null,
  before: number,
  limit: number,
): Promise<OldPart[]> {
  const { submission, part } = after ?? { submission: "", part: 0 };
  const end = before >= Number.MAX_SAFE_INTEGER ? "sub_g" : submissionIdAt(before);
  return query(
    db,
    sql`
    SELECT submission_id AS submission, part, document_count AS documentCount, recorded_at AS recordedAt FROM parts
    WHERE (submission_id, part) > (${submission}, ${part}) AND submission_id < ${end}
    ORDER BY submission_id, part LIMIT ${limit}`,
  );
}

/**
 * Deletes old versions of the documents of parts, and the parts that are old enough and hold no document that has not
 * ended or has failed. Of each document, it deletes the versions up to the part's that have ended, unless they are the
 * newest that succeeded, too young, or part of a retry in progress.
 *
 * The submissions count them as forgotten, and the totals by failure code count those that they do not count yet. Texts
 * that they still have go with them: once a version is forgotten, nobody could delete those. Every statement checks again what it deletes, so a retry, a late answer or
 * another run may be faster, and a repeated call changes nothing. Deletes first, so that it works in a full database. Nine
 * statements, which read rows in proportion to the versions.
 */
export async function forgetOldVersions(
  db: Database,
  parts: readonly PartKey[],
  limits: Pick<RetentionLimits, "versions" | "hidden" | "parts">,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const list = JSON.stringify(parts.map((one) => KEY.list(one)));
  const versions = sql`
    FROM json_each(${list}) n
    CROSS JOIN parts p ON ${isKey(sql`n.value`)}
    CROSS JOIN submissions s ON s.id = p.submission_id
    CROSS JOIN json_each(p.documents) i
    CROSS JOIN outcomes o ON o.collection = s.collection AND o.document_id = i.value AND o.submission_id <= s.id`;
  await transact(db, [
    ...dropTexts(textsOf(versions, isOld(limits))),
    sql`
      DELETE FROM documents WHERE (collection, document_id, submission_id) IN (
        SELECT o.collection, o.document_id, o.submission_id ${versions} WHERE ${isOld(limits)})`,
    ...forgetDeleted(versions),
    moveRetention(move, now),
    sql`
      DELETE FROM parts AS p WHERE (submission_id, part) IN (
          SELECT ${KEY.row(sql`n.value`)("submission")}, ${KEY.row(sql`n.value`)("part")} FROM json_each(${list}) n)
        AND recorded_at < ${limits.parts} AND NOT EXISTS (
          SELECT 1 FROM submissions s CROSS JOIN json_each(p.documents) i
          CROSS JOIN documents d ON d.collection = s.collection AND d.document_id = i.value AND d.submission_id = s.id
            AND d.part = p.part
          LEFT JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)}
          WHERE s.id = p.submission_id
            AND (o.status IS NULL OR o.status = 'failed' OR o.finalized_at >= ${limits.parts}))`,
  ]);
}

/** The texts of the documents of the outcomes `o` among `versions`, for `dropTexts`. Most expired before. */
export function textsOf(versions: SQL, which: SQL): SQL {
  return sql`
    SELECT d.contexts_id, d.contexts_at ${versions}
    CROSS JOIN documents d ON ${isSameDocument(sql`d`, sql`o`)}
    WHERE ${which}`;
}

/** Whether the version of the outcome `o` may be forgotten. */
function isOld({ versions, hidden }: Pick<RetentionLimits, "versions" | "hidden">): SQL {
  const isHiddenBy = (status: SQL) => sql`EXISTS (
    SELECT 1 FROM outcomes x WHERE x.collection = o.collection AND x.document_id = o.document_id
      AND x.submission_id > o.submission_id AND ${status})`;
  return sql`
    CASE WHEN o.status = 'succeeded' THEN o.finalized_at < ${hidden} AND ${isHiddenBy(sql`x.status = 'succeeded'`)}
    ELSE (o.finalized_at < ${versions} OR (o.finalized_at < ${hidden} AND ${isHiddenBy(sql`x.status <> 'canceled'`)}))
      AND NOT EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = o.submission_id) END`;
}

/**
 * Deletes the outcomes `o` among `versions` whose documents the statement before deleted, and counts them. The last
 * statement deletes them.
 */
export function forgetDeleted(versions: SQL): SQL[] {
  const gone = sql`gone AS MATERIALIZED (
    SELECT DISTINCT o.collection, o.document_id, o.submission_id, o.status, o.code ${versions}
    WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE ${isSameDocument(sql`d`, sql`o`)}))`;
  const isRolledUp = sql`
    submission_id <= (SELECT coalesce(max(submissions_through), '') FROM folds)
    AND submission_id NOT IN (SELECT submission_id FROM unfolded_submissions)`;
  return [
    sql`
      WITH ${gone}
      UPDATE submissions SET forgotten = forgotten + counted.count
      FROM (SELECT submission_id, count(*) AS count FROM gone GROUP BY submission_id) counted
      WHERE submissions.id = counted.submission_id`,
    sql`
      WITH ${gone}
      INSERT INTO totals (kind, name, collection, total, failed)
      SELECT 'code', code, '', count(*), count(*) FROM gone WHERE status = 'failed' AND NOT (${isRolledUp}) GROUP BY code
      ON CONFLICT DO UPDATE SET total = total + excluded.total, failed = failed + excluded.failed`,
    sql`
      WITH ${gone}
      DELETE FROM outcomes WHERE (collection, document_id, submission_id) IN (
        SELECT collection, document_id, submission_id FROM gone)`,
  ];
}
