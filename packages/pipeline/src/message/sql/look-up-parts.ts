import { sql } from "drizzle-orm";
import type { DatabaseLevel, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { columns } from "../../platform/sql/columns.ts";
import { highWaterMark } from "../../platform/sql/high-water-marks.ts";

/** `forgotten`: its submission ended and was deleted, long after the last message of it could arrive. */
export type PartStatus = "new" | "recorded" | "forgotten" | "unknown_submission";

const PART_KEY = columns("submission", "part");

export interface LookedUpParts {
  /** In the requested order. */
  readonly statuses: readonly PartStatus[];
  /** The recorded level of the database and its limit; `null` without parts, and before the first record. */
  readonly room: RecordedRoom | null;
}

/** The recorded level of the database, and the limit of the poller that recorded it. */
export interface RecordedRoom {
  readonly level: DatabaseLevel;
  readonly limit: number;
}

/** The status of parts. One query. Reads two rows per part, three if its submission is missing, and two for the level. */
export async function lookUpParts(
  db: Database,
  parts: readonly { readonly submission: SubmissionId; readonly part: number }[],
): Promise<LookedUpParts> {
  const asked = JSON.stringify(parts.map((part) => PART_KEY.list(part)));
  const key = PART_KEY.row(sql`asked.value`);
  const rows = await query<{ status: PartStatus; level: DatabaseLevel | null; limit: number | null }>(
    db,
    sql`
    SELECT CASE WHEN s.id IS NULL
                  THEN iif(${key("submission")} <= ${highWaterMark("submission_id")}, 'forgotten', 'unknown_submission')
                WHEN p.part IS NOT NULL THEN 'recorded' ELSE 'new' END AS status,
      (SELECT level FROM database_size WHERE id = 1) AS level,
      (SELECT limit_bytes FROM database_size WHERE id = 1) AS "limit"
    FROM json_each(${asked}) asked
    LEFT JOIN submissions s ON s.id = ${key("submission")}
    LEFT JOIN parts p ON p.submission_id = ${key("submission")} AND p.part = ${key("part")}
    ORDER BY asked.key`,
  );
  const { level = null, limit = null } = rows[0] ?? {};
  return {
    statuses: rows.map(({ status }) => status),
    room: level === null || limit === null ? null : { level, limit },
  };
}
