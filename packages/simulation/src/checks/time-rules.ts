import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import type { SubmissionRow } from "./changes.ts";

/** What is wrong with a new submission's id, or `null`: it is of the time that D1 shows, or of the newest id's where that is later. */
export function idFlaw(id: string, newest: string, now: number): string | null {
  if (id <= newest) return `${id} was opened after ${newest} and has a lower id`;
  const latest = Math.max(now, newest === "" ? 0 : timeOf(newest));
  return timeOf(id) === latest ? null : `${id} is ${timeOf(id) - latest} ms off D1's clock and the newest id`;
}

/** What is wrong with the time of a push's last activity, or `null`: it is D1's, whatever the Worker's clock says. */
export function activityFlaw(row: SubmissionRow, before: SubmissionRow | undefined, now: number): string | null {
  if (row.active_at === before?.active_at) return null;
  const off = row.active_at - now;
  return Math.abs(off) <= MAX_CLOCK_SKEW ? null : `${row.id} was active ${off} ms off D1's clock`;
}

function timeOf(id: string): number {
  return Number.parseInt(id.slice(4, 12) + id.slice(13, 17), 16);
}
