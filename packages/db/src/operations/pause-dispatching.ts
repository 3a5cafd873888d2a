import { sql } from "drizzle-orm";
import type { PauseReason } from "@sluice/core";
import type { Database } from "../database.ts";
import { query, transact } from "../statements.ts";

/** Why something is not dispatched, and until when (milliseconds); `null`: until it is resumed. */
export interface Pause {
  readonly scope: string;
  readonly reason: PauseReason;
  readonly message: string | null;
  readonly since: number;
  readonly until: number | null;
}

/**
 * Pauses a scope, or changes why and until when it is paused. A pause that someone asked for stays one, and
 * keeps its start. Asked for again, it keeps its message too unless there is a new one.
 */
export async function pauseDispatching(db: Database, pause: Pause): Promise<void> {
  await query(
    db,
    sql`
    INSERT INTO pauses (scope, reason, message, since, until)
    VALUES (${pause.scope}, ${pause.reason}, ${pause.message}, ${pause.since}, ${pause.until})
    ON CONFLICT (scope) DO UPDATE SET
      reason = excluded.reason,
      message = iif(pauses.reason = 'requested', coalesce(excluded.message, pauses.message), excluded.message),
      since = iif(pauses.reason <> 'requested' AND excluded.reason = 'requested', excluded.since, pauses.since),
      until = excluded.until
    WHERE pauses.reason <> 'requested' OR excluded.reason = 'requested'`,
  );
}

/**
 * Ends a pause and makes what waits due at once. Reads the open jobs. Gives the pause that ended; `null`: none
 * was in force, or D1 committed an earlier try whose answer was lost.
 */
export async function resumeDispatching(db: Database, scope: string, now: number): Promise<Pause | null> {
  const [ended] = await transact<Pause>(db, [
    sql`UPDATE jobs SET due_at = ${now} WHERE due_at > ${now} AND status = 'pending'`,
    sql`DELETE FROM pauses WHERE scope = ${scope} RETURNING scope, reason, message, since, until`,
  ]);
  return ended === undefined || (ended.until !== null && ended.until <= now) ? null : ended;
}

/** The pauses in force. A handful of rows. */
export async function readPauses(db: Database, now: number): Promise<Pause[]> {
  return query<Pause>(
    db,
    sql`
    SELECT scope, reason, message, since, until FROM pauses WHERE until IS NULL OR until > ${now}`,
  );
}

/** Ends the pauses of submissions that have ended. */
export async function dropEndedPauses(db: Database): Promise<void> {
  await query(
    db,
    sql`
    DELETE FROM pauses WHERE scope IN (
      SELECT p.scope FROM pauses p CROSS JOIN submissions s ON s.id = substr(p.scope, 12)
      WHERE p.scope LIKE 'submission:%' AND s.completed_at IS NOT NULL)`,
  );
}
