import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Mutations that show only when hundreds of small documents are pushed within minutes. */
export const LOADING: readonly Mutation[] = [
  withKind(
    "load",
    mutation(
      "run-polls-one-claim",
      "a poller run ends after the polls of its first claim",
      "workThrough",
      "({ polls } = await claim({ polls: true, dispatches: false })); unreserve();",
      "unreserve(); state.isStopped = true; return;",
    ),
  ),
  withKind(
    "load",
    mutation(
      "run-ends-over-rate",
      "a poller run that exceeds the submit rate leaves its jobs to the next run",
      "workThrough",
      "state.isStopped = dispatched.left > 0 && !dispatched.isOverRate;",
      "state.isStopped = dispatched.isOverRate || dispatched.left > 0;",
    ),
  ),
];
