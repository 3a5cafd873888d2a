import type { SluiceError } from "./errors.ts";
import type { FeedStart } from "./feed.ts";
import type { DocumentStatus, JobStatus, Lane, SubmissionStatusFilter } from "./types.ts";
import type { Fetch } from "./io.ts";

export interface SluiceOptions {
  /** The API's URL: `https://sluice.example.workers.dev`. */
  readonly url: string;
  readonly key: string;
  /** Replaces the global `fetch`, for example with that of a service binding. */
  readonly fetch?: Fetch | undefined;
  /** Retries of a request after a transient failure; 5 by default. */
  readonly retries?: number | undefined;
  /** Timeout of a request other than a push, in milliseconds; 60,000 by default. */
  readonly timeout?: number | undefined;
  /** Called before each retry with the delay in milliseconds. A push and a feed have their own callbacks. */
  readonly onRetry?: ((error: SluiceError, wait: number) => void) | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The parts of a document to return. */
export interface DocumentOptions extends CallOptions {
  /** The top K scores per document; all of them by default. */
  readonly topK?: number | undefined;
  /** Optional parts: the contexts' texts, the metadata. */
  readonly include?: readonly ("text" | "metadata")[] | undefined;
}

export interface ListOptions extends CallOptions {
  /** Where to start: a `next_cursor`. */
  readonly cursor?: string | undefined;
  /** Items per page, at most 1,000. */
  readonly limit?: number | undefined;
}

export interface ResultsOptions extends DocumentOptions, ListOptions {
  readonly status?: DocumentStatus | undefined;
}

export interface SubmissionFilter extends ListOptions {
  readonly status?: SubmissionStatusFilter | undefined;
  readonly collection?: string | undefined;
  /** With a label, each page has the total `counts` of the label's submissions. */
  readonly label?: string | undefined;
  /** Earliest creation time of the submissions listed. */
  readonly since?: Date | string | undefined;
}

export interface JobFilter extends ListOptions {
  readonly status?: JobStatus | undefined;
  readonly lane?: Lane | undefined;
}

export interface FeedOptions extends DocumentOptions {
  /** The `cursor` of an earlier feed. */
  readonly cursor?: string | null | undefined;
  /**
   * The start without a cursor: all documents that ever ended (`start`, the default), or only those that end from `now`
   * on.
   */
  readonly from?: FeedStart | undefined;
  readonly collection?: string | undefined;
  /** Seconds that the server may wait for new documents; 25 by default. */
  readonly wait?: number | undefined;
  /** Called before each retry with the delay in milliseconds, and with `null` once the server answers again. */
  readonly onRetry?: ((retry: { readonly error: SluiceError; readonly wait: number } | null) => void) | undefined;
}

/** Omit both to stop everything. */
export interface PauseTarget {
  readonly model?: string | undefined;
  readonly submission?: string | undefined;
}

export interface PauseOptions extends CallOptions {
  /** The reason for others to read: at most 500 characters. */
  readonly reason?: string | undefined;
}
