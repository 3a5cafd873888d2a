import { sql, type SQL } from "drizzle-orm";

/** The kinds of numbers, as columns of `high_water_marks`, each with the value before any deletion. */
const NONE = { contexts_id: "0", finalized_sequence: "0", submission_id: "''" } as const;

type Mark = keyof typeof NONE;

/**
 * The greatest number of a kind whose row was deleted, or 0 (`''` for submissions). Reads one row. A new number is
 * greater than this and every number in its table, so that no number is used twice: an old document would show another's
 * text, and a feed would skip jobs.
 */
export function highWaterMark(mark: Mark): SQL {
  return sql.raw(`coalesce((SELECT ${mark} FROM high_water_marks), ${NONE[mark]})`);
}

/**
 * Raises a mark to at least `value`, an expression that is null if nothing is deleted. Part of the transaction that
 * deletes the rows. Writes a row only if the mark changes.
 */
export function raiseHighWaterMark(mark: Mark, value: SQL): SQL {
  const column = sql.raw(mark);
  return sql`
    INSERT INTO high_water_marks (id, ${column}) SELECT 1, value FROM (SELECT (${value}) AS value)
    WHERE value > ${highWaterMark(mark)}
    ON CONFLICT (id) DO UPDATE SET ${column} = excluded.${column}`;
}

/**
 * Raises the mark of rows of texts to `id`, the greatest that a statement before may have deleted, or null. Only if no row
 * from there on is left: otherwise new numbers are greater anyway.
 */
export function raiseTextsMark(id: SQL): SQL {
  return raiseHighWaterMark(
    "contexts_id",
    sql`
    SELECT gone FROM (SELECT (${id}) AS gone) WHERE NOT EXISTS (SELECT 1 FROM contexts WHERE id >= gone)`,
  );
}

/** The greatest finalized sequence so far, even if its job was deleted. */
export const lastSequence: SQL = sql`max(
  (SELECT coalesce(max(finalized_sequence), 0) FROM jobs WHERE finalized_sequence IS NOT NULL),
  ${highWaterMark("finalized_sequence")})`;
