import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import type { SubmissionRow } from "./changes.ts";

/** Returns the flaw in a new submission's id, or `null`. Its time must be D1's, or the newest id's if that is later. */
export function idFlaw(id: string, newest: string, now: number): string | null {
  if (id <= newest) return `${id} was opened after ${newest} and has a lower id`;
  const latest = Math.max(now, newest === "" ? 0 : timeOf(newest));
  return timeOf(id) === latest ? null : `${id} is ${timeOf(id) - latest} ms off D1's clock and the newest id`;
}

/**
 * Returns the flaw in the time of a push's last activity, or `null`. The time must be D1's, whatever the Worker's clock
 * shows.
 */
export function activityFlaw(row: SubmissionRow, before: SubmissionRow | undefined, now: number): string | null {
  if (row.active_at === before?.active_at) return null;
  const off = row.active_at - now;
  return Math.abs(off) <= MAX_CLOCK_SKEW ? null : `${row.id} was active ${off} ms off D1's clock`;
}

function timeOf(id: string): number {
  return Number.parseInt(id.slice(4, 12) + id.slice(13, 17), 16);
}
