import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { highWaterMark } from "../../platform/sql/high-water-marks.ts";

/** `forgotten`: its submission ended and was deleted, long after the last message of it could arrive. */
export type PartStatus = "new" | "recorded" | "forgotten" | "unknown_submission";

const PART_KEY = columns("submission", "part");

/** The status of parts, in the requested order. One query. Reads two rows per part, three if its submission is missing. */
export async function lookUpParts(
  db: Database,
  parts: readonly { readonly submission: SubmissionId; readonly part: number }[],
): Promise<PartStatus[]> {
  const asked = JSON.stringify(parts.map((part) => PART_KEY.list(part)));
  const key = PART_KEY.row(sql`asked.value`);
  const rows = await query<{ status: PartStatus }>(
    db,
    sql`
    SELECT CASE WHEN s.id IS NULL
                  THEN iif(${key("submission")} <= ${highWaterMark("submission_id")}, 'forgotten', 'unknown_submission')
                WHEN p.part IS NOT NULL THEN 'recorded' ELSE 'new' END AS status
    FROM json_each(${asked}) asked
    LEFT JOIN submissions s ON s.id = ${key("submission")}
    LEFT JOIN parts p ON p.submission_id = ${key("submission")} AND p.part = ${key("part")}
    ORDER BY asked.key`,
  );
  return rows.map((row) => row.status);
}
