import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";

export type PartStatus = "new" | "recorded" | "unknown_submission";

const PART_KEY = columns("submission", "part");

/** The status of parts, in the requested order. One query. Reads two rows per part. */
export async function lookUpParts(
  db: Database,
  parts: readonly { readonly submission: SubmissionId; readonly part: number }[],
): Promise<PartStatus[]> {
  const asked = JSON.stringify(parts.map((part) => PART_KEY.list(part)));
  const key = PART_KEY.row(sql`asked.value`);
  const rows = await query<{ status: PartStatus }>(
    db,
    sql`
    SELECT CASE WHEN s.id IS NULL THEN 'unknown_submission'
                WHEN p.part IS NOT NULL THEN 'recorded' ELSE 'new' END AS status
    FROM json_each(${asked}) asked
    LEFT JOIN submissions s ON s.id = ${key("submission")}
    LEFT JOIN parts p ON p.submission_id = ${key("submission")} AND p.part = ${key("part")}
    ORDER BY asked.key`,
  );
  return rows.map((row) => row.status);
}
