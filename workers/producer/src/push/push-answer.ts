import { readSubmission } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { Reader } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { EMPTY_BODY } from "../http/body.ts";
import type { LineProblem, Problem } from "../http/problems.ts";
import { newSubmissionRow } from "../shapes/new-submission.ts";
import type { AcceptedShape } from "../shapes/push.ts";
import { NOTHING_AROUND, submissionShape } from "../shapes/submission.ts";
import { LOOK_AGAIN, anotherBody, stillRunning, takenOver } from "./idempotency.ts";
import type { PushOptions } from "./options.ts";
import type { PushEnd, SentPush } from "./push.ts";

/** Seconds. */
const RETRY_AFTER_SECONDS = "10";

/** What a push that was taken in is answered. */
export async function acceptedAnswer(
  context: Reader,
  options: PushOptions,
  end: SentPush,
  told: {
    readonly resumed: boolean;
    readonly names: { id: string }[] | null;
    readonly rejectedCount: number;
    readonly rejected: readonly LineProblem[];
  },
): Promise<AcceptedShape> {
  // What was sent just now is known without reading it back; one that went on may be half way by now.
  const row = told.resumed ? await readSubmission(context.db, end.submission) : null;
  const sent = newSubmissionRow(options, { id: end.submission, createdAt: end.createdAt, total: end.accepted });
  return {
    submission:
      row === null ? submissionShape(sent, NOTHING_AROUND, end.createdAt) : await describeSubmission(context, row),
    documents: told.names,
    accepted: end.accepted,
    rejected_count: told.rejectedCount,
    rejected: [...told.rejected],
  };
}

/** What a push that was not taken in, or not whole, is answered. */
export function notAccepted(end: Exclude<PushEnd, SentPush>): Problem {
  switch (end.kind) {
    case "nothing":
      return EMPTY_BODY;
    case "broken_input":
      return { ...end.problem, members: { submission: end.submission } };
    case "other_body":
      return anotherBody(end.submission);
    case "taken":
      return end.submission === null ? stillRunning(LOOK_AGAIN) : takenOver(end.submission);
    case "unsent":
      return {
        name: "unavailable",
        detail:
          end.submission === null
            ? "The push could not be taken in for now, and nothing of it was: push it again."
            : "The push broke off half way: part of it may be taken in under the submission named here. Push it again; " +
              "with the same Idempotency-Key it goes on there.",
        headers: { "retry-after": RETRY_AFTER_SECONDS },
        members: { submission: end.submission },
      };
  }
}

export function nothingAcceptable(rejectedCount: number, rejected: readonly LineProblem[]): Problem {
  return {
    name: "nothing-acceptable",
    detail: `None of the ${rejectedCount} lines is acceptable; errors tells why, for the first ${rejected.length}.`,
    errors: rejected,
    members: { rejected_count: rejectedCount },
  };
}
