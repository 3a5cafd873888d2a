import { sql } from "drizzle-orm";
import type { Lane, ModelName, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { transact } from "../statements.ts";

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
 * bytes: the same tail again finds the row that an error hid, and writes none. `now` in milliseconds.
 */
export async function openSubmission(
  db: Database,
  submission: NewSubmission,
  tail: string,
  now: number,
): Promise<{ readonly id: SubmissionId; readonly createdAt: number }> {
  // An id minted now is never less than this, so only the newest rows are looked at.
  const floor = `sub_${now.toString(16).padStart(12, "0").replace(/(.{8})/, "$1-")}`;
  const own = sql`id >= ${floor} AND substr(id, 19) = ${tail}`;
  const [row] = await transact<{ id: SubmissionId; created_at: number }>(db, [
    sql`
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
      WHERE NOT EXISTS (SELECT 1 FROM submissions WHERE ${own})`,
    sql`SELECT id, created_at FROM submissions WHERE ${own}`,
  ]);
  if (row === undefined) throw new Error("a submission's row is gone as soon as it was written");
  return { id: row.id, createdAt: row.created_at };
}
