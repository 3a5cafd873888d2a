import { sql } from "drizzle-orm";
import { PUSH_ALIVE, type SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query, transact } from "../statements.ts";
import { unfoldSubmission } from "./fold-totals.ts";

/**
 * Takes over a push that broke off: one that was let go, or without activity for 60 s. From here on
 * its former holder raises, stages and closes nothing. One that the poller closed as incomplete, or that
 * lost documents, is open again, and looked after again: the lost ones are missing again, until their
 * parts are sent anew. `token` is random. Gives whether the push is the caller's: of two at once it is one's.
 */
export async function takeOverPush(db: Database, id: SubmissionId, token: string, now: number): Promise<boolean> {
  const free = sql`id = ${id} AND (holder = '' OR active_at <= ${now - PUSH_ALIVE} OR holder = ${token})`;
  const reopens = sql`(incomplete OR lost > 0)`;
  const rows = await transact(db, [
    ...unfoldSubmission(id, sql`incomplete AND ${free}`),
    sql`
      INSERT INTO watched_submissions (submission_id) SELECT id FROM submissions WHERE ${free} AND ${reopens}
      ON CONFLICT DO NOTHING`,
    sql`
      UPDATE submissions SET holder = ${token}, active_at = ${now}, incomplete = 0, lost = 0,
        closed_at = iif(${reopens}, NULL, closed_at), completed_at = iif(${reopens}, NULL, completed_at)
      WHERE ${free}
      RETURNING id`,
  ]);
  return rows.length > 0;
}

/** Lets a push go that its holder knows broke off, so that the same key need not wait for 60 s. */
export async function letGoOfPush(db: Database, id: SubmissionId, holder: string | null): Promise<void> {
  await query(db, sql`UPDATE submissions SET holder = '' WHERE id = ${id} AND holder IS ${holder}`);
}

/** The hashes of a submission's recorded parts, from part `from` on: a row each. */
export async function readPartHashes(
  db: Database,
  id: SubmissionId,
  from: number,
  limit: number,
): Promise<{ readonly part: number; readonly hash: string }[]> {
  return query(
    db,
    sql`SELECT part, hash FROM parts WHERE submission_id = ${id} AND part >= ${from} ORDER BY part LIMIT ${limit}`,
  );
}
