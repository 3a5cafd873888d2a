import { and, eq, sql } from "drizzle-orm";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { heartbeats, query, transact, type Database } from "@sluice/db";

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
    db
      .insert(heartbeats)
      .values({ name: "chain", at: now, token: next })
      .onConflictDoUpdate({
        target: heartbeats.name,
        set: { at: sql`excluded.at`, token: sql`excluded.token` },
        setWhere: sql`${heartbeats.token} = ${holder ?? ""} OR ${heartbeats.at} < ${timeAfter(now, -CHAIN_ALIVE_MS)}`,
      }),
    db.select({ at: heartbeats.at }).from(heartbeats).where(isChainOf(next)),
  ]);
  return rows.length > 0;
}

/** Exchanges the token of a message for that of the run that it starts. A token is valid once. Safe to repeat. */
export async function takeChain(db: Database, token: string, holder: string, now: Time): Promise<boolean> {
  const rows = await transact(db, [
    db.update(heartbeats).set({ at: now, token: holder }).where(isChainOf(token)),
    db.select({ at: heartbeats.at }).from(heartbeats).where(isChainOf(holder)),
  ]);
  return rows.length > 0;
}

/** Ends the chain whose token this is, so that the next may start at once. */
export async function endChain(db: Database, token: string): Promise<void> {
  await query(db, db.delete(heartbeats).where(isChainOf(token)));
}

/** The chain's row, if this is its token. */
function isChainOf(token: string) {
  return and(eq(heartbeats.name, "chain"), eq(heartbeats.token, token));
}
