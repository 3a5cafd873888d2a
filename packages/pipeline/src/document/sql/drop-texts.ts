import { sql, type SQL } from "drizzle-orm";
import { raiseTextsMark } from "../../platform/sql/high-water-marks.ts";

/**
 * Removes the texts of documents from `contexts`: statements of the transaction that deletes the documents or their
 * texts, before it deletes any row of `documents`. `doomed` selects at least their `contexts_id` and `contexts_at`, and
 * must not look at `contexts`: it selects the same before and after their texts are gone.
 *
 * A row is deleted if no other document has texts in it. Otherwise it is rewritten with null for theirs, so the others
 * keep their positions. What a row holds decides, not what it is known to hold: the parts of a document may be deleted
 * before its texts, and older rows list none. Reads `doomed` and the lists of these rows, and writes each row once.
 */
export function dropTexts(doomed: SQL): SQL[] {
  const gone = sql`gone AS MATERIALIZED (SELECT contexts_id, contexts_at FROM (${doomed}))`;
  const isIn = sql`contexts.id IN (SELECT contexts_id FROM gone)`;
  const isGone = sql`(contexts.id, t.key) IN (SELECT contexts_id, contexts_at FROM gone)`;
  const anyText = (which: SQL) => sql`
    EXISTS (SELECT 1 FROM json_each(contexts.texts) t WHERE t.type <> 'null' AND ${which})`;
  return [
    sql`WITH ${gone} DELETE FROM contexts WHERE ${isIn} AND NOT ${anyText(sql`NOT ${isGone}`)}`,
    sql`
      WITH ${gone}
      UPDATE contexts SET texts = (
        SELECT json_group_array(iif(t.type = 'null' OR ${isGone}, json('null'), json(t.value)) ORDER BY t.key)
        FROM json_each(contexts.texts) t)
      WHERE ${isIn} AND ${anyText(isGone)}`,
    raiseTextsMark(sql`SELECT max(contexts_id) FROM (${doomed})`),
  ];
}
