import { MAX_BATCHES } from "./limits.ts";

/** Why a document failed. The list is closed: clients may switch on it. */
export const failureCodes = [
  "invalid_input",
  "too_large",
  "model_error",
  "missing_result",
  "mismatched_result",
  "invalid_result",
  "no_answer",
  "refused",
  "message_lost",
] as const;
export type FailureCode = (typeof failureCodes)[number];

interface FailureKind {
  /** Whether queueing the document again may help. */
  readonly retryable: boolean;
  /** The message if the service sends none. */
  readonly message: string;
}

export const FAILURES: Readonly<Record<FailureCode, FailureKind>> = {
  invalid_input: { retryable: false, message: "Workers AI refuses the document as invalid input." },
  too_large: { retryable: false, message: "Workers AI refuses the document as too large, even alone." },
  model_error: { retryable: true, message: "The model reported an error for the document in every attempt." },
  missing_result: { retryable: true, message: "No answer had a result for the document in any attempt." },
  mismatched_result: {
    retryable: true,
    message: "The results under the document's number belonged to another document in every attempt.",
  },
  invalid_result: {
    retryable: true,
    message: "The results did not have one finite number for each context in any attempt.",
  },
  no_answer: {
    retryable: true,
    message: `Workers AI may have accepted the document in ${MAX_BATCHES} batches, the limit, and returned no result.`,
  },
  refused: { retryable: true, message: "Workers AI does not accept batches of this form." },
  message_lost: { retryable: false, message: "The Queue lost the document's message: push the document again." },
};

/** Maximum answers without a usable result for a document. */
export const MAX_ROUNDS = 3;
