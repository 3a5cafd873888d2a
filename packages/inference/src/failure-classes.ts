import { boundedMessage } from "./values.ts";
import type { FailureSigns } from "./failure-signs.ts";

/**
 * What to do about a refusal.
 *
 * - `retry`: passes by itself: again later, with backoff, or when `retryAfterSeconds` says.
 * - `pause`: the day's neurons are used up: dispatch nothing until 00:00 UTC.
 * - `shrink`: too large: split the job in two.
 * - `invalid`: an input is at fault and the service does not say which: bisect to it.
 * - `configuration`: the account or the model is at fault: stop dispatching the model, keep the documents.
 * - `permanent`: the service takes no request of this form, whichever documents it holds.
 * - `forgotten`: the service does not know the batch any more: dispatch again at once. Polls only.
 */
export type FailureClass = "retry" | "pause" | "shrink" | "invalid" | "configuration" | "permanent" | "forgotten";

/** Workers AI did not do what was asked. */
export interface Refusal {
  readonly class: FailureClass;
  /** The service's own code (1000 and up); `null` when it gave none. */
  readonly code: number | null;
  /** For people, at most 500 characters. May hold the service's words about an input: never logged. */
  readonly message: string;
  /** At most a day. */
  readonly retryAfterSeconds: number | null;
  /**
   * Of a submit: the service may have taken the batch in all the same, so dispatching again may pay
   * twice. Of a poll: the batch may still be answered, so poll again; `false` means that it is over,
   * and only another dispatch brings an answer.
   */
  readonly mayBeRunning: boolean;
}

export type BatchCall = "submit" | "poll";

interface FailureRow {
  readonly class: FailureClass;
  /** Whether a submit that was answered so may be running all the same. */
  readonly mayBeRunning: boolean;
  /** What a person reads when the service gave no words of its own. */
  readonly meaning: string;
  /** Where a poll's answer means something else. */
  readonly onPoll?: FailureClass;
}

const row = (
  failureClass: FailureClass,
  meaning: string,
  more: { readonly mayBeRunning?: boolean; readonly onPoll?: FailureClass } = {},
): FailureRow => ({ class: failureClass, meaning, mayBeRunning: false, ...more });

/**
 * The service's own codes, from the error page of Workers AI's documentation. 4006, 5006 and 5021
 * are only seen in the field; 10000 is that of Cloudflare's whole API.
 */
export const FAILURES_BY_CODE: ReadonlyMap<number, FailureRow> = new Map([
  [3003, row("invalid", "The request is incomplete.")],
  [3006, row("shrink", "The request is too large.")],
  [3007, row("retry", "The request timed out.", { mayBeRunning: true })],
  [3008, row("retry", "The request was aborted.", { mayBeRunning: true })],
  [3023, row("configuration", "Workers AI is not available to the account.")],
  [3036, row("pause", "The account's neurons of the day are used up.")],
  [3039, row("configuration", "The model lacks files of its finetune.")],
  [3040, row("retry", "Workers AI is out of capacity.")],
  [3041, row("configuration", "The account may not use the model.")],
  // The model was known when the batch was submitted, so what a poll does not find is the batch.
  [3042, row("configuration", "Workers AI does not find the model.", { onPoll: "forgotten" })],
  [4006, row("pause", "The account's neurons of the day are used up.")],
  [5004, row("invalid", "The input is invalid.")],
  [5005, row("permanent", "The model does not support what the request asks for.")],
  [5006, row("invalid", "The input does not match the model's schema.")],
  [5007, row("configuration", "There is no such model.")],
  [5016, row("configuration", "The account has not agreed to the model's terms.")],
  [5018, row("configuration", "The account may not use the model.")],
  [5019, row("configuration", "Workers AI no longer takes requests of this version.")],
  [5021, row("invalid", "An input is longer than the model's window.")],
  [5035, row("configuration", "The model needs the Workers Paid plan.")],
  [10000, row("configuration", "Workers AI refuses the account's authentication.")],
]);

/** HTTP statuses, for answers that carry no code of the table above. */
export const FAILURES_BY_STATUS: ReadonlyMap<number, FailureRow> = new Map([
  [401, row("configuration", "Workers AI refuses the account's authentication.")],
  [403, row("configuration", "The account may not use the model.")],
  [404, row("configuration", "Workers AI does not find the model.", { onPoll: "forgotten" })],
  [408, row("retry", "The request timed out.", { mayBeRunning: true })],
  [410, row("configuration", "The model is gone.", { onPoll: "forgotten" })],
  [413, row("shrink", "The request is too large.")],
  [429, row("retry", "Workers AI is out of capacity.")],
]);

const SERVER_ERROR = row("retry", "Workers AI failed inside.", { mayBeRunning: true });
const UNKNOWN = row("retry", "Workers AI gave an error without words.", { mayBeRunning: true });
const ALLOWANCE_USED_UP = row("pause", "The account's neurons of the day are used up.");
const FORGOTTEN = row("forgotten", "Workers AI does not know the batch any more.");
/** The same answer would be too large at every poll; halves have smaller ones. */
const ANSWER_TOO_LARGE = row("shrink", "The answer is too large to read.");

/** Daily neurons used up, told without a code. */
const ALLOWANCE_WORDS = /daily[^.]{0,40}(?:allocation|allowance|neurons)/i;
/** What an unknown or expired `request_id` brings is undocumented, so its words count as well as its code. */
const FORGOTTEN_WORDS =
  /request[ _]?id\b.{0,80}\b(?:not found|unknown|expired|invalid|not exist)|\b(?:unknown|expired|invalid|no such) request[ _]?id\b/i;

function rowFor(signs: FailureSigns, call: BatchCall): FailureRow {
  if (signs.answerTooLarge) return call === "poll" ? ANSWER_TOO_LARGE : UNKNOWN;
  const byCode = signs.code === null ? undefined : FAILURES_BY_CODE.get(signs.code);
  const toldByWords = byCode === undefined || byCode.class === "invalid";
  if (call === "poll" && toldByWords && FORGOTTEN_WORDS.test(signs.message)) return FORGOTTEN;
  if (byCode !== undefined) return byCode;
  if (ALLOWANCE_WORDS.test(signs.message)) return ALLOWANCE_USED_UP;
  if (signs.status === null) return UNKNOWN;
  return FAILURES_BY_STATUS.get(signs.status) ?? (signs.status >= 500 ? SERVER_ERROR : UNKNOWN);
}

/** Whether a poll answered so says that the batch itself is over. */
const ENDS_BATCH: Readonly<Record<FailureClass, boolean>> = {
  retry: false,
  pause: false,
  shrink: true,
  invalid: true,
  configuration: false,
  permanent: true,
  forgotten: true,
};

/** The one place that decides what a failed call means. What it does not know is `retry`. */
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

/** The class of a code that an answer gives for one document; `retry` when it is unknown. */
export function classOfCode(code: number | null): FailureClass {
  return (code === null ? undefined : FAILURES_BY_CODE.get(code))?.class ?? "retry";
}
