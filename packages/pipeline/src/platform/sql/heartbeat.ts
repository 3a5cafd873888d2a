import { sql, type SQL } from "drizzle-orm";
import type { Time } from "../clock.ts";
import { type Database, query } from "@sluice/db";

/** Milliseconds: a run that follows another sooner writes no heartbeat. */
const HEARTBEAT_INTERVAL_MS = 30_000;

/** Notes that the poller runs. A statement, since it goes along with the claim that a run starts with. */
export function beatOfPoller(now: Time): SQL {
  return sql`
    INSERT INTO heartbeats (name, at) VALUES ('poller', ${now})
    ON CONFLICT DO UPDATE SET at = excluded.at WHERE excluded.at >= heartbeats.at + ${HEARTBEAT_INTERVAL_MS}`;
}

/** When the poller ran last, to half a minute; `null`: it never did. */
export async function readHeartbeat(db: Database): Promise<number | null> {
  const [row] = await query<{ at: number }>(db, sql`SELECT at FROM heartbeats WHERE name = 'poller'`);
  return row?.at ?? null;
}
