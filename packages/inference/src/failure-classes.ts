import type { FailureSigns } from "./failure-signs.ts";
import { boundedMessage } from "./values.ts";

/**
 * The reaction to a failed call.
 *
 * - `retry`: transient: retry with backoff, or after `retryAfterSeconds`.
 * - `pause`: the day's neurons are used up: dispatch nothing until 00:00 UTC.
 * - `shrink`: too large: split the job in two.
 * - `invalid`: an input is invalid and the service does not say which: bisect to it.
 * - `configuration`: the account or the model has an error: stop dispatching the model, keep the documents.
 * - `permanent`: the service accepts no request of this form, whichever documents it has.
 * - `forgotten`: the service no longer knows the batch: dispatch again at once. Polls only.
 */
export type FailureClass = "retry" | "pause" | "shrink" | "invalid" | "configuration" | "permanent" | "forgotten";

/** A call to Workers AI that failed. */
export interface Refusal {
  readonly class: FailureClass;
  /** The service's own code (1000 and up); `null` if there is none. */
  readonly code: number | null;
  /** For people, at most 500 characters. May contain the service's message about an input: never logged. */
  readonly message: string;
  /** At most a day. */
  readonly retryAfterSeconds: number | null;
  /**
   * For a submit: the service may have accepted the batch anyway, so another dispatch may pay twice. For a poll: the
   * batch may still be answered, so poll again; `false` means that it is over, and only another dispatch brings an
   * answer.
   */
  readonly mayBeRunning: boolean;
}

export type BatchCall = "submit" | "poll";

interface FailureRule {
  readonly class: FailureClass;
  /** Whether the batch of a submit with this answer may be running. */
  readonly mayBeRunning: boolean;
  /** The message if the service sends none. */
  readonly meaning: string;
  /** The class if it differs for a poll. */
  readonly onPoll?: FailureClass;
}

const row = (
  failureClass: FailureClass,
  meaning: string,
  more: { readonly mayBeRunning?: boolean; readonly onPoll?: FailureClass } = {},
): FailureRule => ({ class: failureClass, meaning, mayBeRunning: false, ...more });

/**
 * The service's own codes, from the error page of Workers AI's documentation. 4006, 5006 and 5021 are undocumented but
 * observed; 10000 is a code of the whole Cloudflare API.
 */
export const FAILURES_BY_CODE: ReadonlyMap<number, FailureRule> = new Map([
  [3003, row("invalid", "The request is incomplete.")],
  [3006, row("shrink", "The request is too large.")],
  [3007, row("retry", "The request timed out.", { mayBeRunning: true })],
  [3008, row("retry", "The request was aborted.", { mayBeRunning: true })],
  [3023, row("configuration", "Workers AI is not available to the account.")],
  [3036, row("pause", "The account's daily neurons are used up.")],
  [3039, row("configuration", "The model lacks its finetune files.")],
  [3040, row("retry", "Workers AI is out of capacity.")],
  [3041, row("configuration", "The account may not use the model.")],
  // The model was known when the batch was submitted, so it is the batch that a poll does not find.
  [3042, row("configuration", "Workers AI cannot find the model.", { onPoll: "forgotten" })],
  [4006, row("pause", "The account's daily neurons are used up.")],
  [5004, row("invalid", "The input is invalid.")],
  [5005, row("permanent", "The model does not support the request.")],
  [5006, row("invalid", "The input does not match the model's schema.")],
  [5007, row("configuration", "The model does not exist.")],
  [5016, row("configuration", "The account has not agreed to the model's terms.")],
  [5018, row("configuration", "The account may not use the model.")],
  [5019, row("configuration", "Workers AI no longer accepts requests of this version.")],
  [5021, row("invalid", "An input is longer than the model's window.")],
  [5035, row("configuration", "The model needs the Workers Paid plan.")],
  [10000, row("configuration", "Workers AI refuses the account's authentication.")],
]);

/** HTTP statuses, for answers without a code of the table above. */
export const FAILURES_BY_STATUS: ReadonlyMap<number, FailureRule> = new Map([
  [401, row("configuration", "Workers AI refuses the account's authentication.")],
  [403, row("configuration", "The account may not use the model.")],
  [404, row("configuration", "Workers AI cannot find the model.", { onPoll: "forgotten" })],
  [408, row("retry", "The request timed out.", { mayBeRunning: true })],
  [410, row("configuration", "The model has been removed.", { onPoll: "forgotten" })],
  [413, row("shrink", "The request is too large.")],
  [429, row("retry", "Workers AI is out of capacity.")],
]);

const SERVER_ERROR = row("retry", "Workers AI had an internal error.", { mayBeRunning: true });
const UNKNOWN = row("retry", "Workers AI returned an error without a message.", { mayBeRunning: true });
const ALLOWANCE_USED_UP = row("pause", "The account's daily neurons are used up.");
const FORGOTTEN = row("forgotten", "Workers AI no longer knows the batch.");
/** The same answer would be too large at every poll. The halves of the job have smaller answers. */
const ANSWER_TOO_LARGE = row("shrink", "The answer is too large to read.");

/** The daily neurons are used up, reported without a code. */
const ALLOWANCE_WORDS = /daily[^.]{0,40}(?:allocation|allowance|neurons)/i;
/** The answer to an unknown or expired `request_id` is undocumented, so its message counts as well as its code. */
const FORGOTTEN_WORDS =
  /request[ _]?id\b.{0,80}\b(?:not found|unknown|expired|invalid|not exist)|\b(?:unknown|expired|invalid|no such) request[ _]?id\b/i;

function rowFor(signs: FailureSigns, call: BatchCall): FailureRule {
  if (signs.answerTooLarge) return call === "poll" ? ANSWER_TOO_LARGE : UNKNOWN;
  const byCode = signs.code === null ? undefined : FAILURES_BY_CODE.get(signs.code);
  const mayBeForgotten = byCode === undefined || byCode.class === "invalid";
  if (call === "poll" && mayBeForgotten && FORGOTTEN_WORDS.test(signs.message)) return FORGOTTEN;
  if (byCode !== undefined) return byCode;
  if (ALLOWANCE_WORDS.test(signs.message)) return ALLOWANCE_USED_UP;
  if (signs.status === null) return UNKNOWN;
  return FAILURES_BY_STATUS.get(signs.status) ?? (signs.status >= 500 ? SERVER_ERROR : UNKNOWN);
}

/** Whether a poll with this answer means that the batch itself is over. */
const ENDS_BATCH: Readonly<Record<FailureClass, boolean>> = {
  retry: false,
  pause: false,
  shrink: true,
  invalid: true,
  configuration: false,
  permanent: true,
  forgotten: true,
};

/** Classifies a failed call, in this one place. Anything unknown is `retry`. */
export function classify(signs: FailureSigns, call: BatchCall): Refusal {
  const found = rowFor(signs, call);
  const failureClass = (call === "poll" ? found.onPoll : undefined) ?? found.class;
  return {
    class: failureClass,
    code: signs.code,
    message: boundedMessage(signs.message) || (failureClass === "forgotten" ? FORGOTTEN : found).meaning,
    retryAfterSeconds: signs.retryAfterSeconds,
    mayBeRunning: call === "submit" ? found.mayBeRunning : !ENDS_BATCH[failureClass],
  };
}

/** The class of the code of one document's result; `retry` if it is unknown. */
export function classOfCode(code: number | null): FailureClass {
  return (code === null ? undefined : FAILURES_BY_CODE.get(code))?.class ?? "retry";
}
