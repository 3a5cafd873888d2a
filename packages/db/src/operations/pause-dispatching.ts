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

/** Pauses a scope, or says anew why and until when. One that was asked for is not weakened by a fault's. */
export async function pauseDispatching(db: Database, pause: Pause): Promise<void> {
  await query(
    db,
    sql`
    INSERT INTO pauses (scope, reason, message, since, until)
    VALUES (${pause.scope}, ${pause.reason}, ${pause.message}, ${pause.since}, ${pause.until})
    ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, message = excluded.message, until = excluded.until
    WHERE pauses.reason <> 'requested' OR excluded.reason = 'requested'`,
  );
}

/** Ends a pause and makes what waits due at once. Reads the open jobs. */
export async function resumeDispatching(db: Database, scope: string, now: number): Promise<void> {
  await transact(db, [
    sql`DELETE FROM pauses WHERE scope = ${scope}`,
    sql`UPDATE jobs SET due_at = ${now} WHERE due_at > ${now} AND status = 'pending'`,
  ]);
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
