import { sql, type SQL } from "drizzle-orm";
import type { Time } from "../../platform/clock.ts";
import { dropTexts } from "./drop-texts.ts";
import { isSameDocument } from "./is-document.ts";

/**
 * Deletes versions of documents with their texts and outcomes: statements of one transaction, which is safe to repeat.
 * `doomed` selects their `collection`, `document_id`, `submission_id`, `contexts_id` and `contexts_at` from `documents`.
 * Their submissions count them as forgotten, and those that have not ended as canceled; a later answer for them is
 * dropped. Reads rows in proportion to the versions and to the documents that share their rows of texts.
 */
export function forgetDocuments(doomed: SQL, now: Time): SQL[] {
  const keys = sql`SELECT collection, document_id, submission_id FROM (${doomed})`;
  return [
    sql`
      WITH counted AS MATERIALIZED (
        SELECT d.submission_id, count(*) AS forgotten, count(*) FILTER (WHERE o.status IS NULL) AS canceled
        FROM (${doomed}) d LEFT JOIN outcomes o ON ${isSameDocument(sql`o`, sql`d`)}
        GROUP BY d.submission_id)
      UPDATE submissions SET
        forgotten = submissions.forgotten + counted.forgotten,
        canceled = submissions.canceled + counted.canceled,
        completed_at = CASE WHEN closed_at IS NOT NULL
          AND succeeded + failed + submissions.canceled + counted.canceled + lost = total
          THEN coalesce(completed_at, ${now}) END
      FROM counted WHERE submissions.id = counted.submission_id`,
    ...dropTexts(doomed),
    sql`DELETE FROM outcomes WHERE (collection, document_id, submission_id) IN (${keys})`,
    sql`DELETE FROM documents WHERE (collection, document_id, submission_id) IN (${keys}) RETURNING submission_id`,
  ];
}
