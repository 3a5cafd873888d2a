import { and, eq, sql, type SQL } from "drizzle-orm";
import { PUSH_ALIVE_MS } from "../lifetimes.ts";
import type { SubmissionId } from "@sluice/core";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { query, submissions, transact, type Database } from "@sluice/db";
import { isDeleted } from "./is-forgotten.ts";
import { unrollSubmission } from "./roll-up-totals.ts";

/**
 * Takes over an interrupted push: one that was released, or that had no activity for 60 s. Activity a minute ahead of
 * `now` was written by a wrong clock and does not count. From then on, its former holder can raise, stage and close
 * nothing. A push that the poller closed as incomplete, or that lost documents, is reopened and swept again, and its
 * lost documents count as missing until their parts are sent again. A push whose collection was deleted since stays as it
 * is. `token` is random. Returns whether the caller holds
 * the push: of two concurrent calls, only one does.
 */
export async function takeOverPush(db: Database, id: SubmissionId, token: string, now: Time): Promise<boolean> {
  const isAlive = sql`active_at > ${timeAfter(now, -PUSH_ALIVE_MS)} AND active_at < ${timeAfter(now, PUSH_ALIVE_MS)}`;
  const free = sql`id = ${id} AND (holder = '' OR NOT (${isAlive}) OR holder = ${token})
    AND NOT ${isDeleted(sql`submissions`)}`;
  const reopens = sql`(incomplete OR lost > 0)`;
  const rows = await transact(db, [
    ...unrollSubmission(id, sql`incomplete AND ${free}`),
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

/** Releases a push that its holder knows was interrupted, so that the same key need not wait for 60 s. */
export async function releasePush(db: Database, id: SubmissionId, holder: string | null): Promise<void> {
  const isHeld = and(eq(submissions.id, id), sql`${submissions.holder} IS ${holder}`);
  await query(db, db.update(submissions).set({ holder: "" }).where(isHeld));
}

/** A part of a push that is in D1. */
export interface CountedPart {
  readonly part: number;
  readonly hash: string;
  /**
   * The number of its documents; `null` if it was sent or about to be sent, so that `total` includes it among others.
   */
  readonly documentCount: number | null;
  readonly state: "recorded" | "staged" | "sent";
}

/**
 * Lists the recorded, staged and sent parts of a submission in order, in one statement, because a part may move from
 * one to the other at any time. Reads one row per part, and the bodies of staged parts.
 */
export async function readCountedParts(db: Database, id: SubmissionId): Promise<CountedPart[]> {
  const isRecorded = (part: SQL) =>
    sql`EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = ${id} AND p.part = ${part})`;
  return query<CountedPart>(
    db,
    sql`
    SELECT part, document_count AS documentCount, hash, 'recorded' AS state FROM parts WHERE submission_id = ${id}
    UNION ALL
    SELECT s.part, json_array_length(s.body, '$.documents'), s.body ->> '$.hash', 'staged' FROM staged_parts s
    WHERE s.submission_id = ${id} AND NOT ${isRecorded(sql`s.part`)}
    UNION ALL
    SELECT CAST(h.key AS INTEGER), NULL, h.value, 'sent' FROM sent_parts t CROSS JOIN json_each(t.hashes) h
    WHERE t.submission_id = ${id} AND NOT ${isRecorded(sql`CAST(h.key AS INTEGER)`)}
    ORDER BY part`,
  );
}
