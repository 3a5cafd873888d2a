import type {
  Collection,
  CollectionDeletion,
  Document,
  DocumentIn,
  Page,
  PushAccepted,
  PushParameters,
  Submission,
} from "./documents.ts";
import type { MalformedMessage, Replayed, Stats } from "./jobs.ts";

export interface RpcPushOptions extends PushParameters {
  /** A push of the same documents with the same key, within 24 h, resumes where the first was interrupted. */
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
 * The API for other Workers of the account, over a service binding with `entrypoint: "Sluice"`; this is the type of the
 * binding. Answers are those of the HTTP API. A refusal throws an `Error` whose message is the problem's name and detail:
 * `invalid: …`. A missing document, submission or quarantined message is `null`.
 */
export interface SluiceService {
  /** A list of documents is accepted as a whole or refused. A stream is NDJSON, accepted or refused line by line. */
  push(
    documents: DocumentIn | readonly DocumentIn[] | ReadableStream<Uint8Array>,
    options?: RpcPushOptions,
  ): Promise<PushAccepted>;
  /** Reads the newest version of a document. */
  document(collection: string, id: string, view?: RpcView): Promise<Document | null>;
  /** Reads a page of a submission's recorded documents. */
  results(submission: string, options?: RpcResultsOptions): Promise<Page<Document> | null>;
  submission(id: string): Promise<Submission | null>;
  /** Cancels documents that are not dispatched yet, and stops a retry. */
  cancel(submission: string): Promise<Submission | null>;
  /** Counts a collection's documents, and reads the progress of its deletion. */
  collection(name: string): Promise<Collection | null>;
  /** Deletes all documents that were pushed into a collection so far. */
  deleteCollection(name: string): Promise<CollectionDeletion | null>;
  /** Reads the state of the service, and what computes scores. */
  stats(): Promise<Stats>;
  /** Lists a page of the quarantined messages. */
  malformed(options?: RpcListOptions): Promise<Page<MalformedMessage>>;
  /** Sends a quarantined message to its queue again. */
  replayMalformed(id: string): Promise<Replayed | null>;
  /** Discards a quarantined message. Returns whether it existed. */
  discardMalformed(id: string): Promise<boolean>;
}
