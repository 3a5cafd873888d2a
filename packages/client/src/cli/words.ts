import { shellCommand } from "@sluice/core/shell";
import type { Cell } from "./output.ts";
import type { Document, Submission, SubmissionRetry, Waiting, WaitingReason } from "../types.ts";
import { count, pluralVerb, until } from "./text.ts";

export const HAS = ["has", "have"] as const;
export const WAS = ["was", "were"] as const;

/** What waits, as far as its resumption has to name it. */
export interface Waiter {
  readonly model: string;
  /** `null`: of several submissions, or nobody knows which. */
  readonly submission: string | null;
}

type Words = Readonly<Record<WaitingReason, (waiter: Waiter) => string>>;

const resumeModel = ({ model }: Waiter) => shellCommand(["sluice", "resume", "--model", model]);
const resumeSubmission = ({ submission }: Waiter) =>
  shellCommand(["sluice", "resume", "--submission", submission ?? "SUBMISSION"]);

const REASONS: Words = {
  push: () => "its push is under way, or broke off: push the same again to go on, or it is closed as it is",
  queue: () => "it is in the Queue, on its way to be recorded",
  dispatch: () => "its turn to be dispatched has not come",
  answer: () => "Workers AI has it, and its answer is awaited",
  retry: () => "Workers AI turned it away for now, and it is tried again",
  paused: () => "someone paused dispatching of everything; to go on: sluice resume",
  paused_model: (waiter) => `someone paused dispatching of its model; to go on: ${resumeModel(waiter)}`,
  paused_submission: (waiter) => `someone paused dispatching of its submission; to go on: ${resumeSubmission(waiter)}`,
  daily_limit: () => "the account's daily allowance of Workers AI is used up",
  configuration: (waiter) =>
    `Workers AI refuses the account or the model, and someone has to look at the configuration; then: ${resumeModel(waiter)}`,
};

/** What something waits for, what to do, and until when. */
export function waitingWords(waiting: Waiting, waiter: Waiter, now: number): string {
  // A newer server may know more reasons.
  const words = (REASONS as Readonly<Record<string, Words[WaitingReason] | undefined>>)[waiting.reason];
  const told = words?.(waiter) ?? waiting.reason;
  return waiting.until === null ? told : `${told}; next look ${until(waiting.until, now)}`;
}

const BRIEF: Readonly<Record<string, string | undefined>> = {
  push: "the rest of its push",
  queue: "the Queue",
  dispatch: "its turn",
  answer: "its answer",
  retry: "another try",
  paused: "sluice resume",
  paused_model: "sluice resume --model",
  paused_submission: "sluice resume --submission",
  daily_limit: "a new daily allowance",
  configuration: "someone to mend the configuration",
} satisfies Record<WaitingReason, string>;

/** The same for a list. */
export function waitingBrief(waiting: Waiting, now: number): string {
  const told = BRIEF[waiting.reason] ?? waiting.reason;
  return waiting.until === null ? told : `${told}, ${until(waiting.until, now)}`;
}

const HOLDS: Readonly<Record<string, ((waiter: Waiter) => string) | undefined>> = {
  paused: () => "everything is paused: sluice resume",
  paused_model: (waiter) => `the model is paused: ${resumeModel(waiter)}`,
  paused_submission: (waiter) => `it is paused: ${resumeSubmission(waiter)}`,
  daily_limit: () => "the daily allowance is used up",
  configuration: () => "Workers AI refuses the account or the model",
  retry: () => "Workers AI turned it away for now",
} satisfies Partial<Words>;

/** In a few words what keeps a submission back that would go on otherwise; `null`: nothing does. */
export function holdWords(submission: Submission): string | null {
  const { id, model, waiting, stalled } = submission;
  if (stalled !== null) return stalledWords(stalled);
  return waiting === null ? null : (HOLDS[waiting.reason]?.({ model, submission: id }) ?? null);
}

/** What is known of documents that are short for 10 minutes, and what to do. It stays the same while they are. */
export function stalledWords({ missing }: NonNullable<Submission["stalled"]>): string {
  return (
    `${pluralVerb(missing, "document", WAS)} sent more than 10 minutes ago and not recorded: the Queue may have lost ` +
    "what carried them. To score them now: " +
    `${shellCommand(["sluice", "push", "--key", "OTHER"], ["FILE"])}, which scores all of the file again. Cloudflare's Queue keeps what it took for days: ` +
    "what comes late still counts, and what never comes ends as message_lost"
  );
}

/** What to do about documents that failed as `message_lost`. */
export const PUSH_LOST_AGAIN = "Push the same file again to score them.";

/** A command about a document, to copy. */
export function documentCommand(name: "scores" | "why", { id, collection }: Document): string {
  return shellCommand(["sluice", name, ...(collection === "default" ? [] : ["--collection", collection])], [id]);
}

/** What is to be known of a submission whose push is not closed; `null`: it is. */
export function receivingWords({ status }: Submission): string | null {
  if (status !== "receiving") return null;
  return "its push is under way, or broke off: the same push again, under the same key, goes on with it";
}

/** `3,000 of 10,000 failed documents queued again, the others follow` */
export function retryWords({ queued, documents }: SubmissionRetry): string {
  return `${count(queued)} of ${count(documents)} failed documents queued again, the others follow within minutes`;
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

/** `1,200 / 10,000` documents that ended. */
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

/** A document's best context and its score, or why it has none. */
export function bestWords(document: Document): string {
  if (document.error !== null) return `${document.error.code}: ${document.error.message}`;
  const [best] = document.scores;
  return best === undefined ? "" : `${best.score.toFixed(4)}  ${best.context_id}`;
}
