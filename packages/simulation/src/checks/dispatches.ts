import { callTimeout, dispatchLease } from "@sluice/pipeline/job/schedule.ts";
import { RUN_INTERVAL_MS } from "../run-interval.ts";
import { MAX_CLOCK_SKEW, type Caller } from "../world/caller.ts";
import type { JobRow } from "./changes.ts";
import type { Dispatch } from "./state.ts";

/**
 * Returns the flaw in the start time of a dispatch in D1, or `null`. The Worker that started it must have been running
 * then by D1's clock, within the permitted clock skew. The clock shows `now`, and was adjusted by `clockSet` during the
 * run.
 */
export function startTimeFlaw(
  { id, dispatch_number: number, dispatched_at: at }: JobRow,
  by: Caller,
  now: number,
  clockSet = 0,
): string | null {
  const tolerance = MAX_CLOCK_SKEW + clockSet;
  if (at !== null && at >= now - by.ranFor - tolerance && at <= now + tolerance) return null;
  return `dispatch ${number} of ${id} has the start ${at}, but ${by.name} ran from ${now - by.ranFor} to ${now}`;
}

/**
 * Returns the flaw in a submit at this time, or `null`. Its call must end before its lease expires. D1's clock was
 * adjusted by `clockSet` since the Worker started.
 */
export function submitFlaw({ job, number, startedAt }: Dispatch, sentAt: number, clockSet = 0): string | null {
  const waited = sentAt - startedAt - clockSet;
  if (waited <= dispatchLease(RUN_INTERVAL_MS) - callTimeout(RUN_INTERVAL_MS) + MAX_CLOCK_SKEW) return null;
  return `dispatch ${number} of ${job} is submitted ${waited} ms after its start: the call may outlast its lease`;
}

/** Time that a slow D1 may add to the age from which the next poll is computed. */
const AGE_TOLERANCE_MS = 5 * 60_000;

/**
 * Returns the flaw in a dispatched job's next poll time, or `null`. The poll must follow within the run interval or an
 * eighth of the age.
 */
export function pollFlaw(row: JobRow, now: number, clockSet = 0): string | null {
  if (row.status !== "dispatched") return null;
  const age = now - (row.dispatched_at ?? now);
  const wait = (row.due_at ?? 0) - now - MAX_CLOCK_SKEW - clockSet;
  if (wait <= Math.max(RUN_INTERVAL_MS, (age + AGE_TOLERANCE_MS) / 8)) return null;
  return `${row.id} is polled in ${wait} ms, but its batch was dispatched only ${age} ms ago`;
}
