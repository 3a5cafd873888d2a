import { eq, sql, type SQLWrapper } from "drizzle-orm";
import type { Time } from "../clock.ts";
import { heartbeats, type Database } from "@sluice/db";

/** Milliseconds. A run that follows another sooner writes no heartbeat. */
const HEARTBEAT_INTERVAL_MS = 30_000;

/** Records that the poller runs. Returns the statement, because it is sent with the claim at the start of a run. */
export function beatOfPoller(db: Database, now: Time): SQLWrapper {
  return db
    .insert(heartbeats)
    .values({ name: "poller", at: now })
    .onConflictDoUpdate({
      target: heartbeats.name,
      set: { at: sql`excluded.at` },
      setWhere: sql`excluded.at >= ${heartbeats.at} + ${HEARTBEAT_INTERVAL_MS}`,
    });
}

/** When the poller ran last, accurate to half a minute; `null` if it never did. */
export async function readHeartbeat(db: Database): Promise<number | null> {
  const [row] = await db.select({ at: heartbeats.at }).from(heartbeats).where(eq(heartbeats.name, "poller"));
  return row?.at ?? null;
}
