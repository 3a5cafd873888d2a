import { closeSubmission, reopenSubmission } from "@sluice/pipeline/submission/sql/close-submission.ts";
import { releasePush } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import { runStep, type SendFailure } from "./run-step.ts";
import type { OpenPush, SendingContext } from "./open-push.ts";

/** Closes the submission of a push that is sent, or reopens one that was closed as it was opened and is not. */
export async function closePush(
  context: SendingContext,
  push: OpenPush,
  failure: SendFailure | null,
): Promise<SendFailure | null> {
  const { db, databaseTime } = context;
  const { submission, holder } = push;
  if (push.closed) {
    if (failure !== null) await reopen(context, push);
    return failure;
  }
  if (failure !== null) return failure;
  return runStep(context, push, "push_not_closed", async () => {
    const closing = await closeSubmission(db, submission, databaseTime(), holder);
    if (closing === "given_up") throw new Error("the push was given up as abandoned");
    return closing === "taken" ? "taken" : null;
  });
}

async function reopen(context: SendingContext, push: OpenPush): Promise<void> {
  await runStep(context, push, "push_not_reopened", async () => {
    await reopenSubmission(context.db, push.submission, push.holder);
    return null;
  });
}

/** Marks an interrupted push as such, so that a request with the same key can resume it at once. */
export async function letGo(context: SendingContext, push: OpenPush): Promise<void> {
  await runStep(context, push, "push_not_let_go", async () => {
    await releasePush(context.db, push.submission, push.holder);
    return null;
  });
}
