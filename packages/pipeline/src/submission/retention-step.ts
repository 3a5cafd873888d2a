import type { Database } from "@sluice/db";
import type { RetentionMove } from "./sql/retention-progress.ts";

/** The end of a step. `isLast`: nothing behind it is old enough. */
export type StepEnd = Pick<RetentionMove, "cursor" | "isLast">;

/**
 * One step of a task: a read that finds rows behind the cursor, and one guarded transaction. `move` returns the change of
 * the task's progress that this transaction must include.
 */
export type RetentionStep = (
  db: Database,
  cursor: string | null,
  move: (end: StepEnd) => RetentionMove,
  now: number,
) => Promise<StepEnd>;
