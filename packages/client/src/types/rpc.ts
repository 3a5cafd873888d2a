import type { Document, DocumentIn, Page, PushAccepted, PushParameters, Submission } from "./documents.ts";
import type { MalformedMessage, Replayed, Stats } from "./jobs.ts";

export interface RpcPushOptions extends PushParameters {
  /** Pushing the same documents under the same key again, within 24 h, goes on where it broke off. */
  readonly idempotencyKey?: string;
}

export interface RpcView {
  readonly topK?: number;
  readonly include?: readonly ("text" | "metadata")[];
}

export interface RpcListOptions {
  readonly limit?: number;
  /** A `next_cursor`. */
  readonly cursor?: string;
}

export interface RpcResultsOptions extends RpcView, RpcListOptions {
  readonly status?: Document["status"];
}

/**
 * The API for other Workers of the account, over a service binding with `entrypoint: "Sluice"`; this is
 * the binding's type. Answers are those of the HTTP API; a refusal throws an `Error` named `SluiceError`
 * whose message is the problem's name and detail. What is not there is `null`.
 */
export interface SluiceService {
  /** A list of documents is taken in whole or not at all; a stream is NDJSON, each line by itself. */
  push(
    documents: DocumentIn | readonly DocumentIn[] | ReadableStream<Uint8Array>,
    options?: RpcPushOptions,
  ): Promise<PushAccepted>;
  /** The newest version of a document. */
  document(collection: string, id: string, view?: RpcView): Promise<Document | null>;
  /** A page of a submission's recorded documents. */
  results(submission: string, options?: RpcResultsOptions): Promise<Page<Document> | null>;
  submission(id: string): Promise<Submission | null>;
  /** Cancels what is not dispatched yet, and ends a retry. */
  cancel(submission: string): Promise<Submission | null>;
  /** The state of the whole, and what computes scores. */
  stats(): Promise<Stats>;
  /** A page of the quarantined messages. */
  malformed(options?: RpcListOptions): Promise<Page<MalformedMessage>>;
  /** Sends a quarantined message to its queue again. */
  replayMalformed(id: string): Promise<Replayed | null>;
  /** Forgets a quarantined message. Returns whether it was there. */
  discardMalformed(id: string): Promise<boolean>;
}
