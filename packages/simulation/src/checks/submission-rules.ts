import { PUSH_ALIVE_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { MAX_CLOCK_SKEW, type Caller } from "../world/caller.ts";
import type { SubmissionRow } from "./changes.ts";
import type { Submission } from "./state.ts";

/** Returns the flaw in a submission's change from its known row to `row`, or `null`. */
export function submissionFlaw(known: Submission, row: SubmissionRow, now: number, clockSet: number): string | null {
  const { row: before, heldBy, heldSince } = known;
  const { id, total } = row;
  if (total < before.total) return `total of ${id} fell from ${before.total} to ${total}`;
  if (total > before.total && before.closed_at !== null && row.closed_at !== null)
    return `total of ${id} rose from ${before.total} to ${total} after it was closed`;
  const isTakenOver = row.holder !== before.holder && row.holder !== "" && before.holder !== "";
  // The last request to take it over did so after it started. Its last activity is then at least that recent. Also by
  // D1's clock, which may have been adjusted since.
  const age = Math.max(heldBy.ranFor, now - heldSince);
  if (isTakenOver && age < PUSH_ALIVE_MS - 2 * MAX_CLOCK_SKEW - clockSet)
    return `${id} was taken from ${heldBy.name}, which started only ${age} ms ago`;
  return null;
}

/**
 * Returns the flaw in the cancellation of a submission, or `null`. It is requested once, and has no effect after every
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

/** Returns who holds a push, and since when, after a change by `by`. */
export function holderOf(
  { row: before, heldBy, heldSince }: Submission,
  row: SubmissionRow,
  by: Caller,
  now: number,
): Pick<Submission, "heldBy" | "heldSince"> {
  return row.holder === before.holder || row.holder === "" ? { heldBy, heldSince } : { heldBy: by, heldSince: now };
}

/** Returns the flaw in a submission's counters, or `null`. */
export function countsFlaw({ row, jobs, tokens, ...counted }: Submission): string | null {
  for (const name of ["recorded", "succeeded", "failed", "canceled", "forgotten"] as const) {
    if (row[name] !== counted[name])
      return `${row.id} has ${name} ${row[name]}, but its rows add up to ${counted[name]}`;
  }
  if (row.jobs !== jobs) return `${row.id} counts ${row.jobs} jobs, but ${jobs} ended with its documents`;
  // Each job rounds its share.
  if (Math.abs(row.tokens - tokens) > jobs)
    return `${row.id} counts ${row.tokens} tokens, but its shares of Workers AI's counts are ${tokens}`;
  return null;
}
