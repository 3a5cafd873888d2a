import { isDatabaseFull } from "@sluice/db";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import type { OpenPush, SendingContext } from "./open-push.ts";

/** Why a push ends early. */
export type SendFailure =
  /** D1 or the Queue is unavailable. */
  | "unsent"
  /** D1 refuses writes because the database is full. */
  | "full"
  /** The documents are not those that were recorded under the same key. */
  | "other_body"
  /** Another request has the push, or the poller closed it. */
  | "taken";

/** Runs a step of a push. Its failure is logged as `event`; an exception is `unsent` or `full`. `null`: it succeeded. */
export async function runStep(
  { log }: Pick<SendingContext, "log">,
  { submission }: OpenPush,
  event: string,
  step: () => Promise<"taken" | null>,
): Promise<SendFailure | null> {
  try {
    const failure = await step();
    if (failure !== null) log({ event, submission, reason: failure });
    return failure;
  } catch (error) {
    log({ event, submission, ...describeError(error) });
    return isDatabaseFull(error) ? "full" : "unsent";
  }
}
