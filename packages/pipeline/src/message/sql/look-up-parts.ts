import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

export type PartStatus = "new" | "recorded" | "unknown_submission";

/** How parts stand before they are recorded, in the order asked. One query; reads two rows a part. */
export async function lookUpParts(
  db: Database,
  parts: readonly { readonly submission: SubmissionId; readonly part: number }[],
): Promise<PartStatus[]> {
  const asked = JSON.stringify(parts.map(({ submission, part }) => [submission, part]));
  const rows = await query<{ status: PartStatus }>(
    db,
    sql`
    SELECT CASE WHEN s.id IS NULL THEN 'unknown_submission'
                WHEN p.part IS NOT NULL THEN 'recorded' ELSE 'new' END AS status
    FROM json_each(${asked}) asked
    LEFT JOIN submissions s ON s.id = asked.value ->> 0
    LEFT JOIN parts p ON p.submission_id = asked.value ->> 0 AND p.part = asked.value ->> 1
    ORDER BY asked.key`,
  );
  return rows.map((row) => row.status);
}
