import { mutation, withKind, type Mutation } from "./mutation.ts";

/** When dispatches, polls and pauses begin and end. */
export const TIMING: readonly Mutation[] = [
  mutation(
    "start-of-first-dispatch",
    "a job keeps the start of its first dispatch, so every later batch counts as stuck at its first poll",
    "startDispatch",
    "dispatched_at = ${now},",
    "dispatched_at = coalesce(dispatched_at, ${now}),",
  ),
  mutation(
    "poll-after-whole-age",
    "the next poll of a dispatched job waits for the job's whole age",
    "nextPoll",
    "(${now} - dispatched_at) / 10)",
    "${now} - dispatched_at)",
  ),
  withKind(
    "pausing",
    mutation(
      "fault-ends-request",
      "an automatic pause replaces a requested one",
      "pauseDispatching",
      "setWhere: sql`NOT ${isRequested} OR excluded.reason = 'requested'`,",
      "",
    ),
  ),
  mutation(
    "pause-of-closed-dropped",
    "the pause of a submission ends when its push is closed",
    "dropEndedPauses",
    "AND s.completed_at IS NOT NULL",
    "AND s.closed_at IS NOT NULL",
  ),
  mutation(
    "failing-polls-forever",
    "a batch whose polls fail is never given up",
    "overdue",
    "? 2 * context.stuckAfter :",
    "? Infinity :",
  ),
  withKind(
    "resuming",
    mutation(
      "pauses-not-read-again",
      "a refused Worker keeps using the pauses that it read earlier",
      "dispatchUnlessPaused",
      "pauses.splice(0, pauses.length, ...(await readPauses(context.db, context.now())))",
      "await readPauses(context.db, context.now())",
    ),
  ),
  mutation(
    "submitted-too-late",
    "a submit starts so late that it may outlast the lease of its dispatch",
    "dispatchJob",
    "dispatchLease(context.runInterval) - callTimeout(context.runInterval)",
    "dispatchLease(context.runInterval)",
  ),
  mutation(
    "canceled-stays-held",
    "canceled documents held by a pause end only with the pause",
    "holdPausedJobs",
    "AND NOT ${holdsCanceled(sql`j.members`)})",
    ")",
  ),
  withKind(
    "sharing",
    mutation(
      "canceled-held-after-dispatch",
      "documents canceled during a dispatch that sets a pause end only with the pause",
      "postponeJob",
      "{ until: dueAt, members: sql`members` }",
      "{ until: dueAt }",
    ),
  ),
  mutation(
    "half-of-run-cut-off",
    "a run ends after its polls while a batch is in progress, without a signal",
    "workThrough",
    "await Promise.allSettled([pollAll(polls), dispatchAll(waiting, leaseUntil)]))",
    "(await Promise.all([pollAll(polls), dispatchAll(waiting, leaseUntil)]), [] as PromiseSettledResult<void>[]))",
  ),
];
