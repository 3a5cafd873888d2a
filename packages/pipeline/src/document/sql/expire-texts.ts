import { sql, type SQL } from "drizzle-orm";
import { type Database, query, transact } from "@sluice/db";
import { raiseTextsMark } from "../../platform/sql/high-water-marks.ts";
import type { TextsRow } from "../../submission/retention-rules.ts";
import { isListing, moveRetention, type RetentionMove } from "../../submission/sql/retention-progress.ts";
import { isDocument } from "./is-document.ts";

/** Maximum bytes of texts, and documents, in one step. One row may exceed them. */
const MAX_BYTES = 32_000_000;
const MAX_DOCUMENTS = 20_000;

/**
 * The documents of the row `t` of `contexts`, by its parts: `e` is a part's entry, `s` its submission, `p` the part, `i`
 * an id, and `o` the outcome. The part of a document that retention deleted is gone, and so is the document or its text.
 */
const documentsOfRow = sql`
  FROM json_each(t.parts) e
  CROSS JOIN submissions s ON s.id = e.value ->> 0
  CROSS JOIN parts p ON p.submission_id = s.id AND p.part = e.value ->> 1
  CROSS JOIN json_each(p.documents) i
  LEFT JOIN outcomes o ON ${isDocument(sql`o`, { id: sql`i.value`, collection: sql`s.collection`, submission: sql`s.id` })}`;

/** Whether the document has its texts in this row. A deleted document has no row. */
const isHere = sql`EXISTS (SELECT 1 FROM documents d
  WHERE ${isDocument(sql`d`, { id: sql`i.value`, collection: sql`s.collection`, submission: sql`s.id` })} AND d.contexts_id = t.id)`;
const isRetried = sql`EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = s.id)`;

/**
 * The next rows of texts by id, with the state of their documents, up to the first with a part recorded at or after
 * `before`, and whether they are the last. Rows whose parts are not listed are left out. Looks at as many rows as the
 * limit allows, but reads only those that fit into a step: lists of parts are behind the texts, so SQLite reads both. Of
 * these, reads the parts, one row per document, and one more per document that failed or has not ended.
 */
export async function listTexts(
  db: Database,
  after: number,
  before: number,
  limit: number,
): Promise<{ readonly rows: readonly TextsRow[]; readonly isEnd: boolean }> {
  const state = sql`
    SELECT json_array(
      count(*) FILTER (WHERE CASE WHEN o.status IS NULL THEN ${isHere} END),
      count(*) FILTER (WHERE CASE WHEN o.status = 'failed' THEN ${isHere} END),
      count(*) FILTER (WHERE CASE WHEN o.status = 'failed' THEN ${isRetried} END),
      coalesce(max(o.finalized_at), 0), coalesce(max(p.recorded_at), 0),
      (SELECT sum(k.value ->> 2) FROM json_each(t.parts) k))
    ${documentsOfRow}`;
  const rows = await query<{ id: number; state: string; found: number }>(
    db,
    sql`
    WITH listed AS MATERIALIZED (
      SELECT id, octet_length(texts) AS bytes FROM contexts
      WHERE id > ${after} AND parts IS NOT NULL ORDER BY id LIMIT ${limit}),
    near AS MATERIALIZED (
      SELECT id, row_number() OVER (ORDER BY id) AS place, sum(bytes) OVER (ORDER BY id) AS bytes FROM listed),
    fitting AS MATERIALIZED (
      SELECT id, parts, place, sum(json_array_length(parts)) OVER (ORDER BY id) AS entries
      FROM near CROSS JOIN contexts USING (id) WHERE place = 1 OR bytes <= ${MAX_BYTES}),
    weighed AS MATERIALIZED (
      SELECT id, parts, place, (
          SELECT json_array(coalesce(sum(p.document_count), 0), coalesce(max(p.recorded_at), 0)) FROM json_each(f.parts) e
          CROSS JOIN parts p ON p.submission_id = e.value ->> 0 AND p.part = e.value ->> 1) AS size
      FROM fitting f WHERE place = 1 OR entries <= ${MAX_DOCUMENTS}),
    summed AS MATERIALIZED (
      SELECT id, parts, place, sum(size ->> 0) OVER (ORDER BY id) AS documents,
        max(size ->> 1) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS recorded
      FROM weighed)
    SELECT t.id, (${state}) AS state, (SELECT count(*) FROM listed) AS found FROM summed t
    WHERE place = 1 OR (documents <= ${MAX_DOCUMENTS} AND recorded < ${before})
    ORDER BY t.id`,
  );
  const found = rows[0]?.found ?? 0;
  return {
    rows: rows.map(({ id, state: json }) => {
      const [open = 0, failed = 0, retried = 0, endedAt = 0, recordedAt = 0, kept] = JSON.parse(json) as number[];
      return { id, open, failed, retried, endedAt, recordedAt, kept: kept ?? null };
    }),
    isEnd: found < limit && rows.length === found,
  };
}

/** The rows of one step, in the order of their ids. */
export interface ExpiringTexts {
  readonly deleted: readonly number[];
  readonly rewritten: readonly number[];
  /** Documents that ended before this are old enough. */
  readonly before: number;
  /** Whether the texts of failed documents expire, too. */
  readonly failedToo: boolean;
}

/**
 * Deletes rows of texts, and rewrites others to the texts of their failed documents, in one transaction. A row is left
 * as it is if by now one of its documents has not ended, or has failed and needs its texts: a retry, a late answer or
 * another run may have been faster. A repeated call changes nothing.
 *
 * Deletes first, so that it works in a full database. Writes a row for each row of texts, one for each run of deleted
 * ids, and the progress. Six statements. Moves the task to the end of the step.
 */
export async function expireTexts(
  db: Database,
  { deleted, rewritten, before, failedToo }: ExpiringTexts,
  move: RetentionMove,
  now: number,
): Promise<void> {
  const ids = JSON.stringify(deleted);
  const of = (list: string) => sql`t.id IN (SELECT value FROM json_each(${list}))`;
  const isNeeded = (keepsFailed: boolean) => sql`EXISTS (
    SELECT 1 ${documentsOfRow} WHERE CASE
      WHEN o.status IS NULL THEN ${isHere}
      WHEN o.finalized_at >= ${before} THEN 1
      WHEN o.status = 'failed' THEN ${keepsFailed ? isHere : sql`${isRetried} AND ${isHere}`} END)`;
  await transact(db, [
    sql`DELETE FROM contexts AS t WHERE ${of(ids)} AND parts IS NOT NULL AND NOT ${isListing}
      AND NOT ${isNeeded(!failedToo)}`,
    moveRetention(move, now),
    noteExpiries(ids, now),
    raiseTextsMark(sql`${deleted.at(-1) ?? null}`),
    ...(rewritten.length === 0 ? [] : [rewriteToFailed(of(JSON.stringify(rewritten)), before, now)]),
  ]);
}

/**
 * Notes the deleted ids of a list that are not noted yet: one row for each run without a row that was kept. Ranges never
 * overlap, so the next one by `last_id` is the only one that can contain an id.
 */
function noteExpiries(ids: string, now: number): SQL {
  return sql`
    INSERT INTO text_expiries (last_id, first_id, expired_at)
    SELECT max(id), min(id), ${now} FROM (
      SELECT n.value AS id, (SELECT t.id FROM contexts t WHERE t.id > n.value ORDER BY t.id LIMIT 1) AS kept,
        (SELECT e.last_id FROM text_expiries e WHERE e.last_id >= n.value ORDER BY e.last_id LIMIT 1) AS noted
      FROM json_each(${ids}) n
      WHERE NOT EXISTS (SELECT 1 FROM contexts t WHERE t.id = n.value) AND ${textExpiry(sql`n.value`)} IS NULL)
    GROUP BY kept, noted`;
}

/** When the row of texts with this id was deleted by retention; null if it was not. Reads one row. */
export function textExpiry(id: SQL): SQL {
  return sql`(
    SELECT iif(first_id <= ${id}, expired_at, NULL) FROM text_expiries WHERE last_id >= ${id} ORDER BY last_id LIMIT 1)`;
}

/**
 * Rewrites rows to the texts of their failed documents. The time stands for each text that expires. `parts` keeps the
 * parts with failed documents and counts those, so that the row is rewritten again only once there are fewer.
 */
function rewriteToFailed(which: SQL, before: number, now: number): SQL {
  return sql`
    WITH failed AS MATERIALIZED (
      SELECT t.id, s.id AS submission, p.part, e.key AS place, d.contexts_at AS at
      FROM contexts t CROSS JOIN json_each(t.parts) e
      CROSS JOIN submissions s ON s.id = e.value ->> 0
      CROSS JOIN parts p ON p.submission_id = s.id AND p.part = e.value ->> 1
      CROSS JOIN json_each(p.documents) i
      CROSS JOIN outcomes o ON ${isDocument(sql`o`, { id: sql`i.value`, collection: sql`s.collection`, submission: sql`s.id` })}
        AND o.status = 'failed'
      CROSS JOIN documents d
        ON ${isDocument(sql`d`, { id: sql`i.value`, collection: sql`s.collection`, submission: sql`s.id` })} AND d.contexts_id = t.id
      WHERE ${which}),
    kept AS MATERIALIZED (
      SELECT id, json_group_array(json_array(submission, part, count) ORDER BY place) AS parts, (
          SELECT json_group_array(f.at) FROM failed f WHERE f.id = counted.id) AS places
      FROM (SELECT id, submission, part, min(place) AS place, count(*) AS count FROM failed GROUP BY id, submission, part) counted
      GROUP BY id)
    UPDATE contexts AS t SET parts = kept.parts, texts = (
      SELECT json_group_array(CASE
        WHEN x.type <> 'array' THEN x.value
        WHEN x.key IN (SELECT value FROM json_each(kept.places)) THEN json(x.value)
        ELSE CAST(${now} AS INTEGER) END ORDER BY x.key)
      FROM json_each(t.texts) x)
    FROM kept WHERE t.id = kept.id AND NOT ${isListing} AND NOT EXISTS (
      SELECT 1 ${documentsOfRow} WHERE CASE WHEN o.status IS NULL THEN ${isHere} ELSE o.finalized_at >= ${before} END)`;
}
