import { sql, type SQL } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import { submissionsOpenedBefore } from "./submissions-opened-before.ts";

/** Maximum submissions, and maximum jobs, in one fold. */
const ROLL_UP_SIZE = 5_000;

const through = sql`(SELECT coalesce(max(submissions_through), '') FROM folds)`;
const jobsThrough = sql`(SELECT coalesce(max(jobs_through), 0) FROM folds)`;

/**
 * Adds ended submissions opened before `settledBy`, and ended jobs, to the totals. Each counts once, so statistics read
 * only the totals and the newer or open ones. A submission that has not ended, or lost a message, is set aside and
 * counted once it has. Returns whether there are more. Reads one row each, and one index entry per failed document.
 */
export async function rollUpTotals(db: Database, settledBy: number): Promise<boolean> {
  const passed = submissionsOpenedBefore(settledBy, through, ROLL_UP_SIZE);
  // A late arrival undoes a loss, so a submission with losses is never settled.
  const settled = sql`completed_at IS NOT NULL AND lost = 0`;
  const ready = sql`
    SELECT * FROM (${passed}) WHERE ${settled}
    UNION ALL
    SELECT s.* FROM unfolded_submissions u CROSS JOIN submissions s ON s.id = u.submission_id WHERE ${settled}`;
  const ended = sql`
    SELECT finalized_sequence, tokens, unconfirmed_dispatches, repeated_dispatches FROM jobs INDEXED BY jobs_finalized
    WHERE finalized_sequence > ${jobsThrough} AND finalized_sequence IS NOT NULL
    ORDER BY finalized_sequence LIMIT ${ROLL_UP_SIZE}`;
  const [row] = await transact<{ more: 0 | 1 }>(db, [
    ...addSubmissions(ready, 1),
    sql`
      INSERT INTO totals (kind, name, collection, total, tokens, unconfirmed_dispatches, repeated_dispatches)
      SELECT 'jobs', '', '', count(*), coalesce(sum(tokens), 0), sum(unconfirmed_dispatches), sum(repeated_dispatches)
      FROM (${ended}) HAVING count(*) > 0
      ON CONFLICT DO UPDATE SET total = total + excluded.total, tokens = tokens + excluded.tokens,
        unconfirmed_dispatches = unconfirmed_dispatches + excluded.unconfirmed_dispatches,
        repeated_dispatches = repeated_dispatches + excluded.repeated_dispatches`,
    sql`
      DELETE FROM unfolded_submissions WHERE submission_id IN (
        SELECT s.id FROM unfolded_submissions u CROSS JOIN submissions s ON s.id = u.submission_id WHERE ${settled})`,
    sql`
      INSERT INTO unfolded_submissions (submission_id) SELECT id FROM (${passed}) WHERE NOT (${settled})
      ON CONFLICT DO NOTHING`,
    // Last, because all statements above start where the previous fold ended.
    sql`
      INSERT INTO folds (id, submissions_through, jobs_through)
      SELECT 1, coalesce(id, ${through}), coalesce(sequence, ${jobsThrough})
      FROM (SELECT (SELECT max(id) FROM (${passed})) AS id, (SELECT max(finalized_sequence) FROM (${ended})) AS sequence)
      WHERE id IS NOT NULL OR sequence IS NOT NULL
      ON CONFLICT (id) DO UPDATE SET submissions_through = excluded.submissions_through,
        jobs_through = excluded.jobs_through`,
    sql`
      SELECT EXISTS (${submissionsOpenedBefore(settledBy, through, 1)})
        OR EXISTS (SELECT 1 FROM jobs WHERE finalized_sequence > ${jobsThrough} AND finalized_sequence IS NOT NULL) AS more`,
  ]);
  return row?.more === 1;
}

/** Adds submissions to the totals, or subtracts them: three statements of a transaction. */
function addSubmissions(rows: SQL, sign: 1 | -1): SQL[] {
  const sums = sql`
    ${sign} * sum(total), ${sign} * sum(succeeded), ${sign} * sum(failed), ${sign} * sum(canceled), ${sign} * sum(tokens),
    ${sign} * sum(unconfirmed_dispatches)`;
  const add = (select: SQL) => sql`
    INSERT INTO totals (kind, name, collection, total, succeeded, failed, canceled, tokens, unconfirmed_dispatches)
    ${select}
    ON CONFLICT DO UPDATE SET total = total + excluded.total, succeeded = succeeded + excluded.succeeded,
      failed = failed + excluded.failed, canceled = canceled + excluded.canceled, tokens = tokens + excluded.tokens,
      unconfirmed_dispatches = unconfirmed_dispatches + excluded.unconfirmed_dispatches`;
  return [
    add(sql`SELECT 'lane', lane, '', ${sums} FROM (${rows}) WHERE true GROUP BY lane`),
    add(
      sql`SELECT 'label', label, collection, ${sums} FROM (${rows}) WHERE label IS NOT NULL GROUP BY label, collection`,
    ),
    add(sql`
      SELECT 'code', o.code, '', ${sign} * count(*), 0, ${sign} * count(*), 0, 0, 0 FROM (${rows}) s
      CROSS JOIN outcomes o INDEXED BY outcomes_failed ON o.submission_id = s.id AND o.status = 'failed'
      WHERE s.failed > 0 GROUP BY o.code`),
  ];
}

/**
 * Removes an ended submission from the totals if it is in them: the first statements of the transaction that reopens
 * it. `again` is the condition for reopening.
 */
export function unrollSubmission(id: SubmissionId, again: SQL): SQL[] {
  const folded = sql`
    SELECT * FROM submissions WHERE id = ${id} AND id <= ${through} AND completed_at IS NOT NULL AND lost = 0
      AND id NOT IN (SELECT submission_id FROM unfolded_submissions) AND ${again}`;
  return [
    ...addSubmissions(folded, -1),
    sql`INSERT INTO unfolded_submissions (submission_id) SELECT id FROM (${folded}) WHERE true ON CONFLICT DO NOTHING`,
  ];
}
