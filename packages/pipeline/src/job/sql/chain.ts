import { sql } from "drizzle-orm";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { type Database, query, transact } from "@sluice/db";

/*
 * The chain: runs of the poller that continue one another, each in a fresh invocation. Its row in `heartbeats` holds a
 * token: that of the message that starts the next run, and once a run has taken it, the run's own.
 */

/** Milliseconds after which a chain that shows no sign of life counts as broken: its message or its run was lost. */
export const CHAIN_ALIVE_MS = 90_000;

/**
 * Names the next run of the chain: starts a chain where none is alive, or continues the one whose current run is
 * `holder`. Returns whether `next` is valid now; safe to repeat.
 */
export async function handOnChain(db: Database, holder: string | null, next: string, now: Time): Promise<boolean> {
  const rows = await transact(db, [
    sql`
      INSERT INTO heartbeats (name, at, token) VALUES ('chain', ${now}, ${next})
      ON CONFLICT DO UPDATE SET at = excluded.at, token = excluded.token
      WHERE heartbeats.token = ${holder ?? ""} OR heartbeats.at < ${timeAfter(now, -CHAIN_ALIVE_MS)}`,
    sql`SELECT 1 FROM heartbeats WHERE name = 'chain' AND token = ${next}`,
  ]);
  return rows.length > 0;
}

/** Exchanges the token of a message for that of the run that it starts. A token is valid once. Safe to repeat. */
export async function takeChain(db: Database, token: string, holder: string, now: Time): Promise<boolean> {
  const rows = await transact(db, [
    sql`UPDATE heartbeats SET at = ${now}, token = ${holder} WHERE name = 'chain' AND token = ${token}`,
    sql`SELECT 1 FROM heartbeats WHERE name = 'chain' AND token = ${holder}`,
  ]);
  return rows.length > 0;
}

/** Ends the chain whose token this is, so that the next may start at once. */
export async function endChain(db: Database, token: string): Promise<void> {
  await query(db, sql`DELETE FROM heartbeats WHERE name = 'chain' AND token = ${token}`);
}
