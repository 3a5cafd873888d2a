import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { isDeleted } from "../../submission/sql/is-forgotten.ts";
import type { PartToRecord } from "./record-parts.ts";

const PART = columns("submission", "part", "hash", "documentCount", "documentIds");

/**
 * Records parts of submissions that a deletion of their collection covers, without their documents: these are counted
 * as canceled and forgotten, and no text is stored. Parts of other submissions, and recorded ones, are left alone. One
 * transaction, safe to repeat. Returns for each part whether it is recorded now. Reads five rows per part.
 */
export async function recordForgottenParts(
  db: Database,
  job: JobId,
  parts: readonly Pick<PartToRecord, "submission" | "part" | "hash" | "documentIds">[],
  now: number,
): Promise<boolean[]> {
  const list = JSON.stringify(parts.map((one) => PART.list({ ...one, documentCount: one.documentIds.length })));
  const part = PART.row(sql`n.value`);
  const isRecorded = sql`p.submission_id = ${part("submission")} AND p.part = ${part("part")}`;
  const forgotten = sql`
    FROM json_each(${list}) n CROSS JOIN submissions s ON s.id = ${part("submission")} AND ${isDeleted(sql`s`)}
    WHERE NOT EXISTS (SELECT 1 FROM parts p WHERE ${isRecorded})`;
  const recorded = await transact<{ recorded: number }>(db, [
    sql`
      WITH counted AS MATERIALIZED (
        SELECT s.id AS submission, sum(${part("documentCount")}) AS count ${forgotten} GROUP BY s.id)
      UPDATE submissions SET
        recorded = recorded + counted.count,
        canceled = canceled + counted.count,
        forgotten = forgotten + counted.count,
        lost = max(0, min(lost, total - recorded - counted.count)),
        completed_at = CASE
          WHEN closed_at IS NOT NULL AND succeeded + failed + canceled + counted.count
            + max(0, min(lost, total - recorded - counted.count)) = total THEN ${now} END
      FROM counted WHERE submissions.id = counted.submission`,
    sql`
      INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents)
      SELECT ${part("submission")}, ${part("part")}, ${job}, ${part("hash")}, ${part("documentCount")}, ${now},
        ${part("documentIds")}
      ${forgotten}`,
    sql`
      DELETE FROM staged_parts WHERE (submission_id, part) IN (
        SELECT p.submission_id, p.part FROM json_each(${list}) n CROSS JOIN parts p ON ${isRecorded})`,
    sql`
      SELECT p.part IS NOT NULL AS recorded FROM json_each(${list}) n LEFT JOIN parts p ON ${isRecorded}
      ORDER BY n.key`,
  ]);
  return recorded.map((row) => row.recorded === 1);
}
