import { PUSH_ALIVE_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { MAX_CLOCK_SKEW, type Caller } from "../world/caller.ts";
import type { SubmissionRow } from "./changes.ts";
import type { Submission } from "./state.ts";

/** What is wrong with a submission's change from the row that is known to `row`, or `null`. */
export function submissionFlaw(known: Submission, row: SubmissionRow, now: number, clockSet: number): string | null {
  const { row: before, heldBy, heldSince } = known;
  const { id, total } = row;
  if (total < before.total) return `total of ${id} fell from ${before.total} to ${total}`;
  if (total > before.total && before.closed_at !== null && row.closed_at !== null)
    return `total of ${id} rose from ${before.total} to ${total} after it was closed`;
  const isTakenOver = row.holder !== before.holder && row.holder !== "" && before.holder !== "";
  // The last request to take it over did so after it began: that was its last sign of life, or an earlier one.
  // By D1's clock too, which may have been set meanwhile.
  const age = Math.max(heldBy.ranFor, now - heldSince);
  if (isTakenOver && age < PUSH_ALIVE_MS - 2 * MAX_CLOCK_SKEW - clockSet)
    return `${id} was taken from ${heldBy.name}, which began only ${age} ms ago`;
  return null;
}

/**
 * What is wrong with the cancellation of a submission, or `null`: it is requested once, and changes nothing after every
 * document has ended, unless a retry is about to queue some again.
 */
export function cancellationFlaw(known: Submission, row: SubmissionRow, isRetried: boolean): string | null {
  const { row: before, recorded, succeeded, failed, canceled } = known;
  if (row.cancel_requested_at === before.cancel_requested_at) return null;
  if (before.cancel_requested_at !== null) return `the cancellation of ${row.id} was requested again`;
  const hasEnded =
    before.closed_at !== null && recorded + before.lost === before.total && succeeded + failed + canceled === recorded;
  return hasEnded && !isRetried ? `${row.id} was canceled after every document had ended` : null;
}

/** Who holds a push, and since when, after a change that `by` made. */
export function holderOf(
  { row: before, heldBy, heldSince }: Submission,
  row: SubmissionRow,
  by: Caller,
  now: number,
): Pick<Submission, "heldBy" | "heldSince"> {
  return row.holder === before.holder || row.holder === "" ? { heldBy, heldSince } : { heldBy: by, heldSince: now };
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
