import { mutation, withKind, type Mutation } from "./mutation.ts";

/** When attempts, polls and pauses begin and end. */
export const TIMING: readonly Mutation[] = [
  mutation(
    "start-of-first-attempt",
    "a job keeps the start of its first attempt, so that every later batch is stuck at its first poll",
    "packages/pipeline/src/job/sql/start-attempt.ts",
    "dispatched_at = ${now},",
    "dispatched_at = coalesce(dispatched_at, ${now}),",
  ),
  mutation(
    "poll-after-whole-age",
    "a dispatched job is polled again after its whole age",
    "packages/pipeline/src/job/sql/claim-due-jobs.ts",
    "(${now} - dispatched_at) / 10)",
    "${now} - dispatched_at)",
  ),
  withKind(
    "pausing",
    mutation(
      "fault-ends-request",
      "a fault's pause replaces one that somebody asked for",
      "packages/pipeline/src/job/sql/pause-dispatching.ts",
      "WHERE pauses.reason <> 'requested' OR excluded.reason = 'requested'",
      "WHERE true",
    ),
  ),
  mutation(
    "pause-of-closed-dropped",
    "the pause of a submission ends when its push is closed",
    "packages/pipeline/src/job/sql/pause-dispatching.ts",
    "AND s.completed_at IS NOT NULL",
    "AND s.closed_at IS NOT NULL",
  ),
  mutation(
    "failing-polls-for-ever",
    "a batch whose polls fail is never given up",
    "packages/pipeline/src/job/poll-jobs.ts",
    "? 2 * io.stuckAfter :",
    "? Infinity :",
  ),
  withKind(
    "resuming",
    mutation(
      "pauses-not-read-again",
      "a Worker that was refused goes on with the pauses that it read before",
      "packages/pipeline/src/job/dispatch-unless-paused.ts",
      "pauses.splice(0, pauses.length, ...(await readPauses(io.db, io.now())))",
      "await readPauses(io.db, io.now())",
    ),
  ),
];
