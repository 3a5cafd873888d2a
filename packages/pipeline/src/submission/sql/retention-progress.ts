import { sql, type SQL } from "drizzle-orm";
import { query, retentionProgress, type Database } from "@sluice/db";

export type RetentionTask = (typeof retentionProgress.$inferSelect)["task"];

/** How far a task has come. */
export type RetentionProgress = Omit<typeof retentionProgress.$inferSelect, "task">;

/** Reads the progress of the tasks that have begun: one row each. */
export async function readRetentionProgress(db: Database): Promise<ReadonlyMap<RetentionTask, RetentionProgress>> {
  const rows = await db.select().from(retentionProgress);
  return new Map(rows.map(({ task, ...progress }) => [task, progress]));
}

/** A step of a task. */
export interface RetentionMove {
  readonly task: RetentionTask;
  /** JSON: the key of the last row that the step looked at. */
  readonly cursor: string | null;
  /** Whether it is the first step of a pass. */
  readonly isFirst: boolean;
  /** Whether no row behind it is old enough: the pass is complete. */
  readonly isLast: boolean;
}

/**
 * Moves a task to the end of a step, as part of its transaction. `deleted` is the number of deleted rows: by default
 * those of the statement directly before.
 */
export function moveRetention(
  { task, cursor, isFirst, isLast }: RetentionMove,
  now: number,
  deleted: SQL = sql`changes()`,
): SQL {
  const [started, ended] = [isFirst, isLast].map((is) => (is ? now : null));
  return sql`
    INSERT INTO retention_progress (task, cursor, started_at, ended_at, deleted)
    VALUES (${task}, ${cursor}, ${now}, ${ended}, ${deleted})
    ON CONFLICT (task) DO UPDATE SET cursor = excluded.cursor, started_at = coalesce(${started}, started_at),
      ended_at = coalesce(excluded.ended_at, ended_at), deleted = deleted + excluded.deleted`;
}

/** Moves a task to the end of a step that changed nothing. */
export async function advanceRetention(db: Database, move: RetentionMove, now: number): Promise<void> {
  await query(db, moveRetention(move, now, sql`0`));
}

/** Whether rows of texts may have incomplete lists of their parts: a pass that lists them is in progress. */
export const isListing = sql`
  EXISTS (SELECT 1 FROM retention_progress WHERE task = 'list_parts' AND cursor IS NOT NULL)`;
