import { sql } from "drizzle-orm";
import type { Lane, ModelName, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

export interface NewSubmission {
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly label: string | null;
  readonly truncateInputs: boolean;
  /** Documents sent or about to be. */
  readonly total: number;
  /** Whether nothing more will be sent: a push of one part is closed as it is opened, and saves a write. */
  readonly closed: boolean;
}

/**
 * Writes a submission's row and mints its id in the same statement: the time in it is this one, or
 * a millisecond past the newest submission's where that is later (clocks apart, two in one
 * millisecond), so that a later submission always has the greater id. `tail` is `uuidTail` of random
 * bytes. `now` in milliseconds.
 */
export async function openSubmission(
  db: Database,
  submission: NewSubmission,
  tail: string,
  now: number,
): Promise<{ readonly id: SubmissionId; readonly createdAt: number }> {
  const rows = await query<{ id: SubmissionId; created_at: number }>(db, sql`
    INSERT INTO submissions
      (id, collection, model, lane, label, truncate_inputs, total, created_at, active_at, closed_at)
    SELECT printf('sub_%08x-%04x-', minted >> 16, minted & 65535) || ${tail},
      ${submission.collection}, ${submission.model}, ${submission.lane}, ${submission.label},
      ${submission.truncateInputs ? 1 : 0}, ${submission.total}, minted, minted,
      CASE WHEN ${submission.closed ? 1 : 0} THEN minted END
    FROM (
      SELECT max(CAST(${now} AS INTEGER),
        coalesce((SELECT created_at + 1 FROM submissions ORDER BY id DESC LIMIT 1), 0)) AS minted
    )
    RETURNING id, created_at`);
  const [row] = rows;
  if (row === undefined) throw new Error("an INSERT … RETURNING gave no row");
  return { id: row.id, createdAt: row.created_at };
}
