import { PUSH_ALIVE } from "@sluice/core";
import { MAX_CLOCK_SKEW, type Invocation } from "../world/invocation.ts";
import type { SubmissionRow } from "./changes.ts";
import type { Submission } from "./state.ts";

/** What is wrong with a submission's change from the row that is known to `row`, or `null`. */
export function submissionFlaw({ row: before, heldBy }: Submission, row: SubmissionRow, now: number): string | null {
  const { id, total } = row;
  if (total < before.total) return `total of ${id} fell from ${before.total} to ${total}`;
  if (total > before.total && before.closed_at !== null && row.closed_at !== null)
    return `total of ${id} rose from ${before.total} to ${total} after it was closed`;
  const isTakenOver = row.holder !== before.holder && row.holder !== "" && before.holder !== "";
  // The last request to take it over did so after it began: that was its last sign of life, or an earlier one.
  if (isTakenOver && now - heldBy.startedAt < PUSH_ALIVE - 2 * MAX_CLOCK_SKEW)
    return `${id} was taken from ${heldBy.name}, which began only ${now - heldBy.startedAt} ms ago`;
  return null;
}

/** Who holds a push after a change that `by` made. */
export function holderOf(known: Submission, row: SubmissionRow, by: Invocation): Invocation {
  return row.holder === known.row.holder || row.holder === "" ? known.heldBy : by;
}

/** What is wrong with a submission's counters, or `null`. */
export function countsFlaw({ row, jobs, tokens, ...counted }: Submission): string | null {
  for (const name of ["recorded", "succeeded", "failed", "canceled"] as const) {
    if (row[name] !== counted[name]) return `${row.id} says ${name} ${row[name]}, its rows say ${counted[name]}`;
  }
  if (row.jobs !== jobs) return `${row.id} counts ${row.jobs} jobs, ${jobs} ended with documents of it`;
  // Each job rounds its share.
  if (Math.abs(row.tokens - tokens) > jobs)
    return `${row.id} counts ${row.tokens} tokens, its shares of what Workers AI counted are ${tokens}`;
  return null;
}
