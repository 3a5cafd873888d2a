import { databaseLevels, type DatabaseLevel } from "@sluice/core";
import { sql, type SQL } from "drizzle-orm";
import { query, type Database } from "@sluice/db";
import { FULL_FROM, FULL_UNTIL, levelAfter } from "../database-level.ts";
import { timeAfter, type Time } from "../clock.ts";

/** Milliseconds. Between changes of the level, the size is written no more often. */
export const SIZE_INTERVAL_MS = 60_000;

/** A size that D1 reported, and the limit of the poller that records it. */
export interface MeasuredSize {
  readonly bytes: number;
  /** `MAX_DATABASE_BYTES`. */
  readonly limit: number;
}

/** The recorded size of the database. */
export interface DatabaseSize extends MeasuredSize {
  readonly level: DatabaseLevel;
  /** When it reached this level. */
  readonly since: number;
  /** Milliseconds since it was measured. */
  readonly age: number;
}

/**
 * Records a size, and the level that follows from it and the recorded level. Writes a row if the level or the limit
 * changes, and otherwise at most once a minute. Returns the statement, because it is sent with others.
 */
export function recordSize({ bytes, limit }: MeasuredSize, now: Time): SQL {
  const next = sql`CASE database_size.level ${sql.join(
    databaseLevels.map((before) => sql`WHEN ${before} THEN ${levelAfter(bytes, limit, before)}`),
    sql` `,
  )} END`;
  return sql`
    INSERT INTO database_size (id, bytes, level, since, measured_at, limit_bytes)
    SELECT 1, CAST(${bytes} AS INTEGER), ${levelAfter(bytes, limit, "normal")}, now, now, CAST(${limit} AS INTEGER)
    FROM (SELECT CAST(${now} AS INTEGER) AS now) WHERE true
    ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, level = ${next},
      since = iif(level = ${next}, since, excluded.since), measured_at = excluded.measured_at,
      limit_bytes = excluded.limit_bytes
    WHERE level <> ${next} OR limit_bytes <> excluded.limit_bytes
      OR measured_at <= ${timeAfter(sql`excluded.measured_at`, -SIZE_INTERVAL_MS)}`;
}

/** The recorded size, which is one row; none before the first record. */
export function anySize(now: Time): SQL {
  return sql`
    SELECT bytes, level, since, ${now} - measured_at AS age, limit_bytes AS "limit" FROM database_size WHERE id = 1`;
}

/** The recorded level; none before the first record. Reads one row. */
export const anyLevel = sql`SELECT level FROM database_size WHERE id = 1`;

/** The recorded size; `null` before the first record. Reads one row. */
export async function readDatabaseSize(db: Database, now: Time): Promise<DatabaseSize | null> {
  const [row] = await query<DatabaseSize>(db, anySize(now));
  return row ?? null;
}

/** The tasks of retention that run whatever its settings. */
const TASKS = ["texts", "history", "failed_texts", "jobs"] as const;

/**
 * Whether each task of retention has completed a pass that began after this time: under pressure, it has deleted all that
 * may go. Reads a row per task.
 */
export async function hasRetentionPassed(db: Database, since: number): Promise<boolean> {
  const [row] = await query<{ passed: number }>(
    db,
    sql`
    SELECT count(*) AS passed FROM retention_progress
    WHERE task IN (${sql.join(
      TASKS.map((task) => sql`${task}`),
      sql`, `,
    )}) AND started_at >= ${since} AND ended_at >= started_at`,
  );
  return row?.passed === TASKS.length;
}

/** Records a size by itself. */
export async function recordDatabaseSize(db: Database, measured: MeasuredSize, now: Time): Promise<void> {
  await query(db, recordSize(measured, now));
}

/** What a push is about to write, and what its Worker knows about the database. */
export interface NeededRoom {
  /** Bytes that the push writes, as far as known. */
  readonly bytes: number;
  /** The size that D1 reported lately; `null` if unknown, so that the recorded one counts. */
  readonly known: number | null;
}

/**
 * Whether the database has no room for a push: it is full, or would be with its bytes. Reads one row. A push counts at
 * most the distance between full and not full any more, so that none is refused forever.
 */
export function lacksRoom({ bytes, known }: NeededRoom): SQL {
  const band = sql`limit_bytes * ${FULL_FROM - FULL_UNTIL}`;
  return sql`EXISTS (SELECT 1 FROM database_size WHERE id = 1 AND (
    level = 'full' OR coalesce(${known}, bytes) + min(${bytes}, ${band}) >= limit_bytes * ${FULL_FROM}))`;
}
