import { callTimeout, dispatchLease } from "@sluice/pipeline/job/schedule.ts";
import { RUN_INTERVAL_MS } from "../run-interval.ts";
import { MAX_CLOCK_SKEW, type Invocation } from "../world/invocation.ts";
import type { JobRow } from "./changes.ts";
import type { Dispatch } from "./state.ts";

/**
 * What is wrong with the time that D1 has as the start of a dispatch, or `null`: the Worker that started it ran
 * then, by D1's clock, which shows `now` and was set by `clockSet` meanwhile, as well as a Worker may know that.
 */
export function startTimeFlaw(
  { id, dispatch_number: number, dispatched_at: at }: JobRow,
  by: Invocation,
  now: number,
  clockSet = 0,
): string | null {
  const mayBeOff = MAX_CLOCK_SKEW + clockSet;
  if (at !== null && at >= now - by.ranFor - mayBeOff && at <= now + mayBeOff) return null;
  return `dispatch ${number} of ${id} has ${at} as its start, but ${by.name} ran from ${now - by.ranFor} to ${now}`;
}

/**
 * What is wrong with a submit that is made at this time, or `null`: its call must end before its lease has run out.
 * D1's clock was set by `clockSet` since its Worker began.
 */
export function submitFlaw({ job, number, startedAt }: Dispatch, sentAt: number, clockSet = 0): string | null {
  const waited = sentAt - startedAt - clockSet;
  if (waited <= dispatchLease(RUN_INTERVAL_MS) - callTimeout(RUN_INTERVAL_MS) + MAX_CLOCK_SKEW) return null;
  return `dispatch ${number} of ${job} is submitted ${waited} ms after its start: the call may outlast its lease`;
}

/** Time that a slow D1 may add to the age that a poll is planned by. */
const AGE_TOLERANCE_MS = 5 * 60_000;

/** What is wrong with the time of a dispatched job's next poll, or `null`: it follows within a run, or an eighth of the age. */
export function pollFlaw(row: JobRow, now: number, clockSet = 0): string | null {
  if (row.status !== "dispatched") return null;
  const age = now - (row.dispatched_at ?? now);
  const wait = (row.due_at ?? 0) - now - MAX_CLOCK_SKEW - clockSet;
  if (wait <= Math.max(RUN_INTERVAL_MS, (age + AGE_TOLERANCE_MS) / 8)) return null;
  return `${row.id} is polled in ${wait} ms, though its batch was dispatched only ${age} ms ago`;
}
