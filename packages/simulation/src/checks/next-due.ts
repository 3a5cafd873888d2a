import { NEVER_DUE } from "@sluice/pipeline/job/schedule.ts";
import type { Mirror } from "./mirror.ts";

/** Returns when the poller next has work, by D1's own columns. */
export function nextDue({ deletions, jobs, pauses }: Pick<Mirror, "deletions" | "jobs" | "pauses">): number {
  let due = deletions.open.length > 0 ? 0 : Infinity;
  for (const { row } of jobs.values()) {
    const released = row.paused_by === null ? Infinity : pauses.releaseOf(row.paused_by);
    due = Math.min(due, released, row.due_at === NEVER_DUE ? Infinity : (row.due_at ?? Infinity));
  }
  return due;
}
