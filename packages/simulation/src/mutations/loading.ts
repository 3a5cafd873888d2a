import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Breakages that show only where hundreds of small documents are pushed in minutes. */
export const LOADING: readonly Mutation[] = [
  withKind(
    "load",
    mutation(
      "run-polls-one-claim",
      "A run of the poller ends after the polls of its first claim.",
      "workThrough",
      "({ polls } = await claim({ polls: true, dispatches: false })); unreserve();",
      "unreserve(); state.isStopped = true; return;",
    ),
  ),
  withKind(
    "load",
    mutation(
      "run-ends-over-rate",
      "A run of the poller that is over the rate of submits ends, and leaves its jobs to the next one.",
      "workThrough",
      "state.isStopped = dispatched.left > 0 && !dispatched.isOverRate;",
      "state.isStopped = dispatched.isOverRate || dispatched.left > 0;",
    ),
  ),
];
