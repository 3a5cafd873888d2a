import type { SluiceError } from "./errors.ts";
import type { FeedStart } from "./feed.ts";
import type { DocumentStatus, JobStatus, Lane, SubmissionStatusFilter } from "./types.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What of a document is shown. */
export interface DocumentOptions extends CallOptions {
  /** The top K scores per document; all of them by default. */
  readonly topK?: number | undefined;
  /** What is shown besides: the contexts' texts, the metadata. */
  readonly include?: readonly ("text" | "metadata")[] | undefined;
}

export interface ListOptions extends CallOptions {
  /** Where to start: a `next_cursor`. */
  readonly cursor?: string | undefined;
  /** Items a page, at most 1,000. */
  readonly limit?: number | undefined;
}

export interface ResultsOptions extends DocumentOptions, ListOptions {
  readonly status?: DocumentStatus | undefined;
}

export interface SubmissionFilter extends ListOptions {
  readonly status?: SubmissionStatusFilter | undefined;
  readonly collection?: string | undefined;
  /** Pages then have the `counts` of all of the label's submissions. */
  readonly label?: string | undefined;
  /** The oldest to list. */
  readonly since?: Date | string | undefined;
}

export interface JobFilter extends ListOptions {
  readonly status?: JobStatus | undefined;
  readonly lane?: Lane | undefined;
}

export interface FeedOptions extends DocumentOptions {
  /** Where a feed was before: its `cursor`. */
  readonly cursor?: string | null | undefined;
  /** Without a cursor: everything from the `start` (the default), or what ends from `now` on. */
  readonly from?: FeedStart | undefined;
  readonly collection?: string | undefined;
  /** Seconds that the server may wait for something new; 25. */
  readonly wait?: number | undefined;
  /** Told before each wait for another try, in milliseconds, and with `null` once there is an answer again. */
  readonly onRetry?: ((retry: { readonly error: SluiceError; readonly wait: number } | null) => void) | undefined;
}

/** Everything where nothing is given. */
export interface PauseTarget {
  readonly model?: string | undefined;
  readonly submission?: string | undefined;
}

export interface PauseOptions extends CallOptions {
  /** For others to read: at most 500 characters. */
  readonly reason?: string | undefined;
}
