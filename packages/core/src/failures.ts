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
  /** What a person reads when the service gave no words of its own. */
  readonly message: string;
}

export const FAILURES: Readonly<Record<FailureCode, FailureKind>> = {
  invalid_input: { retryable: false, message: "Workers AI refuses the document as invalid input." },
  too_large: { retryable: false, message: "Workers AI refuses the document as too large, even alone." },
  model_error: { retryable: true, message: "The model reported an error for the document at every attempt." },
  missing_result: { retryable: true, message: "The answers held no result for the document at any attempt." },
  mismatched_result: {
    retryable: true,
    message: "The results under the document's number belonged to another document at every attempt.",
  },
  invalid_result: {
    retryable: true,
    message: "The results did not hold one finite number for each context at any attempt.",
  },
  no_answer: {
    retryable: true,
    message: `Workers AI may have accepted the document in ${MAX_BATCHES} batches, the limit, and returned no result.`,
  },
  refused: { retryable: true, message: "Workers AI takes no batch of this form." },
  message_lost: { retryable: false, message: "The Queue lost the message that carried the document: push it again." },
};

/** How often a document may be answered about without a usable result. */
export const MAX_ROUNDS = 3;
