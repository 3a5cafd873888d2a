import { and, eq, sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { query, stagedParts, transact, type Database } from "@sluice/db";

/**
 * Stores the body of a part that is too large for a message, and counts its documents in the same transaction: from
 * then on it may be recorded, and `total` must include all recorded documents. `total` only rises, as in `raiseTotal`.
 * Staging a part again changes nothing. Returns whether the caller still holds the push and the part is staged.
 */
export async function stagePart(
  db: Database,
  id: SubmissionId,
  part: { readonly part: number; readonly body: string; readonly total: number },
  now: Time,
  holder: string | null = null,
): Promise<boolean> {
  const held = sql`id = ${id} AND total >= ${part.total} AND holder IS ${holder}`;
  const rows = await transact(db, [
    sql`
      UPDATE submissions SET total = max(total, ${part.total}), active_at = ${now}
      WHERE id = ${id} AND closed_at IS NULL AND holder IS ${holder}`,
    sql`
      INSERT INTO staged_parts (submission_id, part, staged_at, body)
      SELECT id, ${part.part}, ${now}, ${part.body} FROM submissions WHERE ${held}
      ON CONFLICT DO NOTHING`,
    sql`SELECT id FROM submissions WHERE ${held}`,
  ]);
  return rows.length > 0;
}

/** The body of a staged part; `null` if it was recorded already or never staged. */
export async function readStagedPart(db: Database, id: SubmissionId, part: number): Promise<string | null> {
  const [row] = await db.select({ body: stagedParts.body }).from(stagedParts).where(isPart(id, part));
  return row?.body ?? null;
}

/** Moves a staged part behind the others: it counts as staged at `now`. */
export async function postponeStagedPart(db: Database, id: SubmissionId, part: number, now: number): Promise<void> {
  await query(db, db.update(stagedParts).set({ stagedAt: now }).where(isPart(id, part)));
}

/** Deletes a staged part without recording it. */
export async function unstagePart(db: Database, id: SubmissionId, part: number): Promise<void> {
  await query(db, db.delete(stagedParts).where(isPart(id, part)));
}

function isPart(id: SubmissionId, part: number) {
  return and(eq(stagedParts.submissionId, id), eq(stagedParts.part, part));
}
