import { STUCK_AFTER_MINUTES } from "@sluice/pipeline/job/schedule.ts";
import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import type { Dispatch, Version } from "./state.ts";

/**
 * Returns the flaw in submitting a document again, or `null`. It is needless if D1 knows an earlier batch with it that
 * is neither stuck nor over, and whose answer, if any, had a result for it. Adjustments of D1's clock since the
 * dispatch's Worker started do not count toward the batch's age.
 */
export function paymentFlaw(
  version: Version,
  dispatch: Dispatch,
  now: number,
  clockSetSince: (dispatch: Dispatch) => number = () => 0,
): string | null {
  const needless = version.batches.find(
    (earlier) =>
      earlier.isConfirmed &&
      now - earlier.takenAt < STUCK_AFTER_MINUTES * 60_000 - 2 * MAX_CLOCK_SKEW - clockSetSince(earlier) &&
      !["over", "invalid", "shrink"].some((word) => earlier.reported.has(word as "over")) &&
      !earlier.unusable.has(version.key),
  );
  version.batches.push(dispatch);
  if (needless === undefined) return null;
  return `${version.key} is paid again in ${dispatch.job}, but ${needless.requestId} of ${needless.job} has it`;
}
