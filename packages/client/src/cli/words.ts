import type { Document, Submission, SubmissionRetry, Waiting, WaitingReason } from "../types.ts";
import type { Cell } from "./output.ts";
import { shellCommand } from "./shell.ts";
import { count, pluralVerb, until } from "./text.ts";

export const HAS = ["has", "have"] as const;
export const WAS = ["was", "were"] as const;

/** The waiting object's ids, as far as the resume command needs them. */
export interface Waiter {
  readonly model: string;
  /** `null` for several submissions, or if the submission is unknown. */
  readonly submission: string | null;
}

type Words = Readonly<Record<WaitingReason, (waiter: Waiter) => string>>;

const resumeModel = ({ model }: Waiter) => shellCommand(["sluice", "resume", "--model", model]);
const resumeSubmission = ({ submission }: Waiter) =>
  shellCommand(["sluice", "resume", "--submission", submission ?? "SUBMISSION"]);

const REASONS: Words = {
  push: () =>
    "its push is still running or was interrupted; push the same input again to resume it, or it is closed as incomplete",
  queue: () => "it is in the Queue and not recorded yet",
  dispatch: () => "it is queued for dispatch",
  answer: () => "Workers AI is processing it",
  retry: () => "Workers AI is temporarily unavailable; Sluice retries",
  paused: () => "all dispatching is paused; to resume: sluice resume",
  paused_model: (waiter) => `dispatching of its model is paused; to resume: ${resumeModel(waiter)}`,
  paused_submission: (waiter) => `dispatching of its submission is paused; to resume: ${resumeSubmission(waiter)}`,
  daily_limit: () => "the account's daily Workers AI allowance is used up",
  configuration: (waiter) =>
    `Workers AI refuses the account or the model, fix the configuration, then run: ${resumeModel(waiter)}`,
};

/** Describes what something waits for, what to do, and until when. */
export function waitingWords(waiting: Waiting, waiter: Waiter, now: number): string {
  // A newer server may have more reasons.
  const words = (REASONS as Readonly<Record<string, Words[WaitingReason] | undefined>>)[waiting.reason];
  const text = words?.(waiter) ?? waiting.reason;
  return waiting.until === null ? text : `${text}; next check ${until(waiting.until, now)}`;
}

/** The same of a submission; `null` if it waits for nothing. Documents of a canceled one are not dispatched any more. */
export function submissionWaitingWords({ id, model, status, waiting }: Submission, now: number): string | null {
  if (waiting === null) return null;
  if (status === "canceling" && waiting.reason === "dispatch") return CANCELED_NEXT;
  return waitingWords(waiting, { model, submission: id }, now);
}

/** What a document waits for that is canceled and was not dispatched. */
export const CANCELED_NEXT = "the poller's next run cancels what is not dispatched";

const BRIEF: Readonly<Record<string, string | undefined>> = {
  push: "the rest of its push",
  queue: "the Queue",
  dispatch: "its turn",
  answer: "its answer",
  retry: "another try",
  paused: "sluice resume",
  paused_model: "sluice resume --model",
  paused_submission: "sluice resume --submission",
  daily_limit: "the next daily allowance",
  configuration: "a configuration fix",
} satisfies Record<WaitingReason, string>;

/** The same, short enough for a list. */
export function waitingBrief(waiting: Waiting, now: number): string {
  const text = BRIEF[waiting.reason] ?? waiting.reason;
  return waiting.until === null ? text : `${text}, ${until(waiting.until, now)}`;
}

const HOLDS: Readonly<Record<string, ((waiter: Waiter) => string) | undefined>> = {
  paused: () => "everything is paused: sluice resume",
  paused_model: (waiter) => `the model is paused: ${resumeModel(waiter)}`,
  paused_submission: (waiter) => `it is paused: ${resumeSubmission(waiter)}`,
  daily_limit: () => "the daily allowance is used up",
  configuration: () => "Workers AI refuses the account or the model",
  retry: () => "Workers AI is temporarily unavailable",
} satisfies Partial<Words>;

/** Describes briefly what blocks a submission; `null` if nothing does. */
export function holdWords(submission: Submission): string | null {
  const { id, model, waiting, stalled } = submission;
  if (stalled !== null) return stalledWords(stalled);
  return waiting === null ? null : (HOLDS[waiting.reason]?.({ model, submission: id }) ?? null);
}

/** Describes documents missing for 10 minutes and what to do. The text stays the same while they are missing. */
export function stalledWords({ missing }: NonNullable<Submission["stalled"]>): string {
  return (
    `${pluralVerb(missing, "document", WAS)} sent more than 10 minutes ago but not recorded: the Queue may have lost ` +
    "their messages. To score them now:  " +
    `${shellCommand(["sluice", "push", "--key", "OTHER"], ["FILE"])}, which scores the whole file again. Cloudflare Queues keep messages for days:  ` +
    "late messages still count, and documents that never arrive fail as message_lost"
  );
}

/** The next step for documents that failed as `message_lost`. */
export const PUSH_LOST_AGAIN = "Push the same file again to score them.";

/** Documents of a submission that failed as `message_lost`: they were never recorded, so no list shows them. */
export function lostOf({ failures }: Pick<Submission, "failures">): number {
  return failures["message_lost"] ?? 0;
}

/** Describes lost documents and the next step. */
export function lostWords(lost: number): string {
  return `${pluralVerb(lost, "document", WAS)} lost in the Queue and cannot be queued again. ${PUSH_LOST_AGAIN}`;
}

/** What a document of each status is or did, as the predicate of a sentence. */
export const DOCUMENT_STATUS: Readonly<Record<Document["status"], string>> = {
  queued: "is queued",
  processing: "is processing",
  succeeded: "succeeded",
  failed: "failed",
  canceled: "was canceled",
};

/** A command about a document, to copy. */
export function documentCommand(name: "scores" | "why", { id, collection }: Document): string {
  return shellCommand(["sluice", name, ...(collection === "default" ? [] : ["--collection", collection])], [id]);
}

/** Describes a submission whose push is not closed; `null` if it is closed. */
export function receivingWords({ status }: Submission): string | null {
  if (status !== "receiving") return null;
  return "its push is still running or was interrupted; push the same input with the same key to resume it";
}

/** `3,000 of 10,000 failed documents queued again, the rest follow` */
export function retryWords({ queued, documents }: SubmissionRetry): string {
  return `${count(queued)} of ${count(documents)} failed documents queued again, the rest follow within minutes`;
}

const STYLES = {
  succeeded: "green",
  completed: "green",
  failed: "red",
  canceled: "yellow",
  canceling: "yellow",
  stalled: "yellow",
  processing: "cyan",
  dispatched: "cyan",
} as const;

/** A status in its color. */
export function statusCell(status: string): Cell {
  const style = (STYLES as Readonly<Record<string, (typeof STYLES)[keyof typeof STYLES] | undefined>>)[status];
  return style === undefined ? status : { text: status, style };
}

/** A submission's status in its color, and whether it is stalled. */
export function submissionCell(submission: Submission): Cell {
  if (submission.stalled === null) return statusCell(submission.status);
  return { text: submissionStatusWords(submission), style: STYLES.stalled };
}

/** `queued`, or `queued, stalled` */
export function submissionStatusWords({ status, stalled }: Submission): string {
  return stalled === null ? status : `${status}, stalled`;
}

/** `1,200 / 10,000` documents ended. */
export function ended({ counts }: Submission): string {
  return `${count(counts.succeeded + counts.failed + counts.canceled)} / ${count(counts.total)}`;
}

/** `model_error 3, too_large 1` */
export function failuresWords(failures: Submission["failures"]): string {
  return Object.entries(failures)
    .toSorted(([, a], [, b]) => b - a)
    .map(([code, number]) => `${code} ${count(number)}`)
    .join(", ");
}

/** A document's best context and score, or the reason it has none. */
export function bestWords(document: Document): string {
  if (document.error !== null) return `${document.error.code}: ${document.error.message}`;
  const [best] = document.scores;
  return best === undefined ? "" : `${best.score.toFixed(4)}  ${best.context_id}`;
}
