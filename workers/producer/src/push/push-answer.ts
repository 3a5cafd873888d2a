import { readSubmission } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { Reader } from "../context.ts";
import { describeSubmission } from "../describe.ts";
import { EMPTY_BODY } from "../http/body.ts";
import { noRoom, type LineProblem, type Problem } from "../http/problems.ts";
import { newSubmissionRow } from "../shapes/new-submission.ts";
import type { AcceptedShape } from "../shapes/push.ts";
import { NOTHING_AROUND, submissionShape } from "../shapes/submission.ts";
import { RETRY_AFTER_SECONDS, anotherBody, stillRunning, takenOver } from "./idempotency.ts";
import type { PushOptions } from "./options.ts";
import type { PushEnd, SentPush } from "./push.ts";

const RETRY_LATER_SECONDS = "10";

const INTERRUPTED =
  "The push was interrupted. The submission named here may have some of its documents. Push it again; with the same " +
  "Idempotency-Key, that submission continues.";

/** The problem of a new push while the database is full. */
const NO_ROOM_FOR_PUSH: Problem = {
  ...noRoom(
    "New pushes are not accepted until old data has been deleted, and nothing of this one was stored. Push it again " +
      "after the time in Retry-After.",
  ),
  members: { submission: null },
};

/** The answer to a push that the Queue has. */
export async function acceptedAnswer(
  context: Reader,
  options: PushOptions,
  end: SentPush,
  given: {
    readonly resumed: boolean;
    readonly names: { id: string }[] | null;
    readonly rejectedCount: number;
    readonly rejected: readonly LineProblem[];
  },
): Promise<AcceptedShape> {
  // A new push is known without reading it back; documents of a resumed one may be recorded by now.
  const row = given.resumed ? await readSubmission(context.db, end.submission) : null;
  const sent = newSubmissionRow(options, { id: end.submission, createdAt: end.createdAt, total: end.accepted });
  return {
    submission:
      row === null ? submissionShape(sent, NOTHING_AROUND, end.createdAt) : await describeSubmission(context, row),
    documents: given.names,
    accepted: end.accepted,
    rejected_count: given.rejectedCount,
    rejected: [...given.rejected],
  };
}

/** The problem of a push that the Queue does not have, or not all of. */
export function notAccepted(end: Exclude<PushEnd, SentPush>): Problem {
  switch (end.kind) {
    case "nothing":
      return EMPTY_BODY;
    case "broken_input":
      return { ...end.problem, members: { submission: end.submission } };
    case "other_body":
      return anotherBody(end.submission);
    case "taken":
      return end.submission === null ? stillRunning(RETRY_AFTER_SECONDS) : takenOver(end.submission);
    case "full":
      return end.submission === null
        ? NO_ROOM_FOR_PUSH
        : { ...noRoom(INTERRUPTED), members: { submission: end.submission } };
    case "unsent":
      return {
        name: "unavailable",
        detail:
          end.submission === null
            ? "The push is temporarily not possible, and nothing of it was stored: push it again."
            : INTERRUPTED,
        headers: { "retry-after": RETRY_LATER_SECONDS },
        members: { submission: end.submission },
      };
  }
}

export function nothingAcceptable(rejectedCount: number, rejected: readonly LineProblem[]): Problem {
  const lines = rejectedCount === 1 ? "The only line has no" : `None of the ${rejectedCount} lines has a`;
  const listed = rejected.length < rejectedCount ? `, for the first ${rejected.length}` : "";
  return {
    name: "nothing-acceptable",
    detail: `${lines} valid document: errors says why${listed}.`,
    errors: rejected,
    members: { rejected_count: rejectedCount },
  };
}
