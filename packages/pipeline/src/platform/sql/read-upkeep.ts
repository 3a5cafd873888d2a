import { alerts, databaseSize, retentionProgress, rowUsage, type Database } from "@sluice/db";

/** The tables that describe the operation itself: a few rows each. */
export interface Upkeep {
  /** Null until the poller has measured it. */
  readonly size: typeof databaseSize.$inferSelect | null;
  readonly retention: readonly (typeof retentionProgress.$inferSelect)[];
  readonly rows: readonly (typeof rowUsage.$inferSelect)[];
  readonly alerts: readonly (typeof alerts.$inferSelect)[];
}

/** Maximum alerts that are raised: one of each kind, and one for each model. */
const MAX_ALERTS = 100;

/** Reads size, retention, row counts and alerts: one call, a few rows. */
export async function readUpkeep(db: Database): Promise<Upkeep> {
  const [sizes, retention, rows, raised] = await db.batch([
    db.select().from(databaseSize).limit(1),
    db.select().from(retentionProgress),
    db.select().from(rowUsage),
    db.select().from(alerts).limit(MAX_ALERTS),
  ]);
  return { size: sizes[0] ?? null, retention, rows, alerts: raised };
}
