import { mutation, withKind, type Mutation } from "./mutation.ts";

/** When dispatches, polls and pauses begin and end. */
export const TIMING: readonly Mutation[] = [
  mutation(
    "start-of-first-dispatch",
    "a job keeps the start of its first dispatch, so that every later batch is stuck at its first poll",
    "startDispatch",
    "dispatched_at = ${now},",
    "dispatched_at = coalesce(dispatched_at, ${now}),",
  ),
  mutation(
    "poll-after-whole-age",
    "a dispatched job is polled again after its whole age",
    "nextPoll",
    "(${now} - dispatched_at) / 10)",
    "${now} - dispatched_at)",
  ),
  withKind(
    "pausing",
    mutation(
      "fault-ends-request",
      "a fault's pause replaces one that somebody asked for",
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
      "a Worker that was refused goes on with the pauses that it read before",
      "dispatchUnlessPaused",
      "pauses.splice(0, pauses.length, ...(await readPauses(context.db, context.now())))",
      "await readPauses(context.db, context.now())",
    ),
  ),
  mutation(
    "submitted-too-late",
    "a submit begins so late that it may outlast the lease of its dispatch",
    "dispatchJob",
    "dispatchLease(context.runInterval) - callTimeout(context.runInterval)",
    "dispatchLease(context.runInterval)",
  ),
  mutation(
    "canceled-stays-held",
    "what is canceled while a pause holds it ends with the pause",
    "holdPausedJobs",
    "AND NOT ${holdsCanceled(sql`j.members`)})",
    ")",
  ),
  withKind(
    "sharing",
    mutation(
      "canceled-held-after-dispatch",
      "what is canceled during a dispatch that puts a pause up ends with the pause",
      "postponeJob",
      "{ until: dueAt, members: sql`members` }",
      "{ until: dueAt }",
    ),
  ),
  mutation(
    "half-of-run-cut-off",
    "a run ends with its polls while it has a batch under way, and nobody hears of that",
    "workThrough",
    "await Promise.allSettled([pollAll(polls), dispatchAll(waiting, leaseUntil)]))",
    "(await Promise.all([pollAll(polls), dispatchAll(waiting, leaseUntil)]), [] as PromiseSettledResult<void>[]))",
  ),
];
