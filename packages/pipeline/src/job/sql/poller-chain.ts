import { and, eq, sql } from "drizzle-orm";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { heartbeats, query, transact, type Database } from "@sluice/db";

/*
 * The chain: poller runs that continue one another, each in a fresh invocation. Its row in `heartbeats` holds the token
 * of the message that starts the next run. Once a run has exchanged that token, the row holds the run's own.
 */

/** Milliseconds without activity after which a chain counts as broken: its message or its run was lost. */
export const CHAIN_ALIVE_MS = 90_000;

/**
 * Names the next run of the chain. Starts a chain if none is alive, or continues the one whose current run is `holder`.
 * Returns whether `next` is valid now. Safe to repeat.
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

/** Exchanges the token of a message for the token of the run that it starts. A token is valid once. Safe to repeat. */
export async function takeChain(db: Database, token: string, holder: string, now: Time): Promise<boolean> {
  const rows = await transact(db, [
    db.update(heartbeats).set({ at: now, token: holder }).where(isChainOf(token)),
    db.select({ at: heartbeats.at }).from(heartbeats).where(isChainOf(holder)),
  ]);
  return rows.length > 0;
}

/** Ends the chain with this token, so that another may start immediately. */
export async function endChain(db: Database, token: string): Promise<void> {
  await query(db, db.delete(heartbeats).where(isChainOf(token)));
}

/** The chain's row, if this is its token. */
function isChainOf(token: string) {
  return and(eq(heartbeats.name, "chain"), eq(heartbeats.token, token));
}
