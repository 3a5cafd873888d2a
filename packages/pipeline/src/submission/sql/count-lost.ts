import { sql, type SQL } from "drizzle-orm";

/**
 * Counts the documents of a submission that are in D1 as staged parts, which the poller records with or without a
 * message. `id` is the submission's column. A staged part that is recorded already does not count.
 */
export function stagedDocuments(id: SQL): SQL {
  return sql`(
    SELECT coalesce(sum(iif(json_valid(g.body), json_array_length(g.body, '$.documents'), 0)), 0) FROM staged_parts g
    WHERE g.submission_id = ${id}
      AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = g.submission_id AND p.part = g.part))`;
}

/** Closes pushes among `which` as incomplete, with the documents sent: no request resumed them. */
export function closeIncomplete(which: SQL, now: number): SQL {
  return sql`
    UPDATE submissions SET closed_at = ${now}, incomplete = 1,
      completed_at = CASE WHEN succeeded + failed + canceled + lost = total THEN ${now} END
    WHERE ${which} AND closed_at IS NULL`;
}

/**
 * Closed submissions among `which` that lack documents which only a message could deliver, with the number of those
 * documents and the number counted as lost.
 */
export function lackingDocuments(which: SQL): SQL {
  return sql`
    SELECT * FROM (
      SELECT s.id, s.total - s.recorded - ${stagedDocuments(sql`s.id`)} AS documents, s.lost FROM submissions s
      WHERE s.id IN (
        SELECT id FROM submissions WHERE ${which} AND closed_at IS NOT NULL AND recorded + lost < total))
    WHERE documents > lost`;
}

/**
 * Counts as lost the documents that closed submissions among `which` have sent and that are neither recorded nor
 * staged: no message can deliver them anymore. Includes canceled submissions, so that their cancellation ends.
 */
export function countLost(which: SQL, now: number): SQL {
  return sql`
    UPDATE submissions SET lost = missing.documents,
      completed_at = CASE WHEN succeeded + failed + canceled + missing.documents = total THEN ${now} END
    FROM (${lackingDocuments(which)}) missing WHERE submissions.id = missing.id`;
}
