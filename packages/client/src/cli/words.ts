import type { Cell } from "./output.ts";
import type { Document, Submission, Waiting, WaitingReason } from "../types.ts";
import { count, until } from "./text.ts";

const REASONS: Readonly<Record<WaitingReason, string>> = {
  queue: "it is in the Queue, on its way to be recorded",
  dispatch: "its turn to be dispatched has not come",
  answer: "Workers AI has it, and its answer is awaited",
  retry: "Workers AI turned it away for now, and it is tried again",
  requested: "dispatching is paused: `sluice resume` goes on",
  daily_limit: "the account's daily allowance of Workers AI is used up",
  configuration: "Workers AI refuses the account or the model: someone has to look at its configuration",
};

/** What something waits for, and until when. */
export function waitingWords(waiting: Waiting, now: number): string {
  // A newer server may know more reasons.
  const words = (REASONS as Readonly<Record<string, string | undefined>>)[waiting.reason] ?? waiting.reason;
  return waiting.until === null ? words : `${words}; next look ${until(waiting.until, now)}`;
}

const HOLDS: Readonly<Record<string, string | undefined>> = {
  requested: "paused: sluice resume",
  daily_limit: "the daily allowance is used up",
  configuration: "Workers AI refuses the account or the model",
  retry: "Workers AI turned it away for now",
} satisfies Partial<Record<WaitingReason, string>>;

/** In a few words what keeps something back that would go on otherwise; `null`: nothing does. */
export function holdWords(waiting: Waiting | null): string | null {
  return waiting === null ? null : (HOLDS[waiting.reason] ?? null);
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
