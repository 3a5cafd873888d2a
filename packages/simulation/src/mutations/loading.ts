import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Breakages that show only where hundreds of small documents are pushed in minutes. */
export const LOADING: readonly Mutation[] = [
  withKind(
    "load",
    mutation(
      "run-polls-one-claim",
      "A run of the poller ends after the polls of its first claim.",
      "packages/pipeline/src/job/run-poller.ts",
      "      ({ polls } = await claim({ polls: true, dispatches: false }));\n      unreserve();",
      "      unreserve();\n      isStopped = true;\n      return;",
    ),
  ),
];
