import {
  collectionShape,
  deletedDocumentShape,
  deletionShape,
  documentListShape,
  documentPageShape,
  documentShape,
  healthShape,
  jobPageShape,
  jobShape,
  malformedPageShape,
  pauseListShape,
  replayedShape,
  resumedShape,
  retryAcceptedShape,
  statsShape,
  submissionPageShape,
  submissionShape,
} from "./answers/answers.ts";
import { nothing, openMetrics, type Shape } from "./answers/shape.ts";
import { makeCall, queryString, type Call, type Connection } from "./call.ts";
import { SluiceError } from "./errors.ts";
import type { Feed } from "./feed.ts";
import { webIo, type Io } from "./io.ts";
import { List } from "./list.ts";
import { openFeed } from "./open-feed.ts";
import type {
  CallOptions,
  DocumentOptions,
  FeedOptions,
  JobFilter,
  ListOptions,
  PauseOptions,
  PauseTarget,
  ResultsOptions,
  SluiceOptions,
  SubmissionFilter,
} from "./options.ts";
import { collectionPath, cutIds, documentsPath, pauseBody, toTime, view } from "./parameters.ts";
import { push, type PushOptions } from "./push/push.ts";
import type { PushResult } from "./push/result.ts";
import type { PushInput } from "./push/source.ts";
import type {
  Collection,
  CollectionDeletion,
  DeletedDocument,
  Document,
  DocumentList,
  Health,
  Job,
  MalformedMessage,
  Page,
  Pause,
  PauseBody,
  Readiness,
  Replayed,
  Resumed,
  RetryAccepted,
  Stats,
  Submission,
  SubmissionPage,
} from "./types.ts";
import { wrongUrl } from "./url.ts";
import { waitFor, type WaitOptions } from "./wait.ts";

const MAX_RETRIES = 5;
const TIMEOUT_MS = 60_000;
const RESULTS_PAGE = 1_000;

/**
 * The API of a Sluice deployment. Every method retries if that is safe and can help. Throws a `SluiceError`, or the
 * reason of the given signal.
 */
export class Sluice {
  readonly #connection: Connection;

  /** Tests replace `io`. */
  constructor(options: SluiceOptions, io: Partial<Io> = {}) {
    // The error of `Headers` would contain the key.
    if (!/^[\x21-\x7e]+$/.test(options.key)) throw new TypeError("key must be printable ASCII without spaces");
    const wrong = wrongUrl("url", options.url);
    if (wrong !== null) throw new TypeError(wrong);
    this.#connection = {
      url: options.url.replace(/\/+$/, ""),
      key: options.key,
      retries: options.retries ?? MAX_RETRIES,
      timeout: options.timeout ?? TIMEOUT_MS,
      onRetry: options.onRetry,
      io: { ...webIo, ...(options.fetch && { fetch: options.fetch }), ...io },
    };
  }

  /** Pushes documents: a list, any iterable, a stream, or one document. See `PushOptions`. */
  push(documents: PushInput, options: PushOptions = {}): Promise<PushResult> {
    return push(this.#connection, documents, options);
  }

  submission(id: string, options: CallOptions = {}): Promise<Submission> {
    return this.#get(submissionShape, `/v1/submissions/${encodeURIComponent(id)}`, options.signal);
  }

  /** Lists submissions, newest first. */
  submissions(filter: SubmissionFilter = {}): List<Submission, SubmissionPage> {
    const { status, collection, label, since, limit } = filter;
    return this.#list(
      submissionPageShape,
      "/v1/submissions",
      { status, collection, label, since: toTime(since), limit },
      filter,
    );
  }

  /** Reads a submission until all its documents have ended, or until the condition in the options holds. */
  wait(id: string, options: WaitOptions = {}): Promise<Submission> {
    return waitFor((signal) => this.submission(id, { signal }), this.#connection.io, options);
  }

  /** Lists a submission's recorded documents. */
  results(id: string, options: ResultsOptions = {}): List<Document> {
    const { status, limit = RESULTS_PAGE } = options;
    return this.#list(
      documentPageShape,
      `/v1/submissions/${encodeURIComponent(id)}/results`,
      { status, ...view(options), limit },
      options,
    );
  }

  /** Cancels documents that are not dispatched yet, and stops a retry. */
  cancel(id: string, options: CallOptions = {}): Promise<Submission> {
    return this.#post(submissionShape, `/v1/submissions/${encodeURIComponent(id)}/cancel`, undefined, options.signal);
  }

  /** Queues failed documents again: all of them, or those with one failure code. */
  retry(id: string, options: CallOptions & { readonly code?: string | undefined } = {}): Promise<RetryAccepted> {
    const path = `/v1/submissions/${encodeURIComponent(id)}/retry${queryString({ code: options.code })}`;
    return this.#post(retryAcceptedShape, path, undefined, options.signal);
  }

  document(collection: string, id: string, options: DocumentOptions = {}): Promise<Document> {
    const path = `${documentsPath(collection)}/${encodeURIComponent(id)}${queryString(view(options))}`;
    return this.#get(documentShape, path, options.signal);
  }

  /** Reads any number of documents of a collection, in the given order, 100 per request. */
  async documents(collection: string, ids: readonly string[], options: DocumentOptions = {}): Promise<DocumentList> {
    const data: Document[] = [];
    const missing: string[] = [];
    for (const id of cutIds(ids)) {
      const query = queryString({ id, ...view(options) });
      const found = await this.#get(documentListShape, `${documentsPath(collection)}${query}`, options.signal);
      data.push(...found.data);
      missing.push(...found.missing);
    }
    return { data, missing };
  }

  /** Deletes all versions of a document. */
  deleteDocument(collection: string, id: string, options: CallOptions = {}): Promise<DeletedDocument> {
    const path = `${documentsPath(collection)}/${encodeURIComponent(id)}`;
    return this.#remove(
      { method: "DELETE", path, answer: deletedDocumentShape, signal: options.signal },
      { deleted: 0 },
    );
  }

  /** Counts a collection's documents, and reads the progress of its deletion. */
  collection(name: string, options: CallOptions = {}): Promise<Collection> {
    return this.#get(collectionShape, collectionPath(name), options.signal);
  }

  /** Deletes all documents that were pushed into a collection so far. `collection` reports the progress. */
  deleteCollection(name: string, options: CallOptions = {}): Promise<CollectionDeletion> {
    return this.#call({ method: "DELETE", path: collectionPath(name), answer: deletionShape, signal: options.signal });
  }

  /** Follows documents as they end, across submissions. Canceled documents are not included. */
  feed(options: FeedOptions = {}): Feed {
    return openFeed(this.#connection, options);
  }

  job(id: string, options: CallOptions = {}): Promise<Job> {
    return this.#get(jobShape, `/v1/jobs/${encodeURIComponent(id)}`, options.signal);
  }

  /** Lists jobs, newest first. */
  jobs(filter: JobFilter = {}): List<Job> {
    const { status, lane, limit } = filter;
    return this.#list(jobPageShape, "/v1/jobs", { status, lane, limit }, filter);
  }

  /** Stops dispatching: everything, a model or a submission. Returns the active pauses. */
  async pause(target: PauseTarget = {}, { reason, signal }: PauseOptions = {}): Promise<readonly Pause[]> {
    const body: PauseBody = { ...pauseBody(target), ...(reason !== undefined && { reason }) };
    return (await this.#post(pauseListShape, "/v1/pause", body, signal)).data;
  }

  /** Ends a pause. Returns it and the pauses that remain active. */
  resume(target: PauseTarget = {}, options: CallOptions = {}): Promise<Resumed> {
    return this.#post(resumedShape, "/v1/resume", pauseBody(target), options.signal);
  }

  /** Lists quarantined messages, without their text. */
  malformed(options: ListOptions = {}): List<MalformedMessage> {
    return this.#list(malformedPageShape, "/v1/malformed", { limit: options.limit }, options);
  }

  /** Sends a quarantined message to its queue again. */
  replayMalformed(id: string, options: CallOptions = {}): Promise<Replayed> {
    const path = `/v1/malformed/${encodeURIComponent(id)}/replay`;
    return this.#remove({ method: "POST", path, answer: replayedShape, signal: options.signal }, { replayed: 0 });
  }

  /** Discards a quarantined message, for example one that cannot be replayed. */
  discardMalformed(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/malformed/${encodeURIComponent(id)}`;
    return this.#remove({ method: "DELETE", path, answer: nothing, signal: options.signal }, undefined);
  }

  stats(options: CallOptions = {}): Promise<Stats> {
    return this.#get(statsShape, "/v1/stats", options.signal);
  }

  /** Reads the metrics in the OpenMetrics format. */
  metrics(options: CallOptions = {}): Promise<string> {
    return this.#call({
      method: "GET",
      path: "/metrics",
      answer: openMetrics,
      parse: (text) => text,
      headers: { accept: "application/openmetrics-text" },
      signal: options.signal,
    });
  }

  /** Checks that pushed documents get scored. Does not retry. */
  async readiness(options: CallOptions = {}): Promise<Readiness> {
    try {
      await this.#call({ method: "GET", path: "/readyz", answer: healthShape, retries: 0, signal: options.signal });
      return { ready: true, detail: null };
    } catch (error) {
      if (!(error instanceof SluiceError && error.code === "unavailable")) throw error;
      return { ready: false, detail: error.detail };
    }
  }

  /** Checks that the API answers. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#get(healthShape, "/healthz", options.signal);
  }

  #get<T>(answer: Shape<T>, path: string, signal: AbortSignal | undefined): Promise<T> {
    return this.#call({ method: "GET", path, answer, signal });
  }

  #post<T>(answer: Shape<T>, path: string, body: unknown, signal: AbortSignal | undefined): Promise<T> {
    if (body === undefined) return this.#call({ method: "POST", path, answer, signal });
    const headers = { "content-type": "application/json" };
    return this.#call({ method: "POST", path, answer, signal, headers, body: () => JSON.stringify(body) });
  }

  async #call<T>(call: Call<T>): Promise<T> {
    return (await makeCall(this.#connection, call)).value;
  }

  /** A call that removes its target. Returns `none` on 404 if an earlier attempt succeeded and its answer was lost. */
  async #remove<T>(call: Call<T>, none: T): Promise<T> {
    const failures: SluiceError[] = [];
    const onRetry = (error: SluiceError) => {
      failures.push(error);
    };
    try {
      return await this.#call({ ...call, onRetry });
    } catch (error) {
      const unheard = failures.some(({ status }) => status === null);
      if (unheard && error instanceof SluiceError && error.code === "not-found") return none;
      throw error;
    }
  }

  #list<Item, P extends Page<Item>>(
    answer: Shape<P>,
    path: string,
    parameters: Parameters<typeof queryString>[0],
    { cursor, signal }: { readonly cursor?: string | undefined; readonly signal?: AbortSignal | undefined },
  ): List<Item, P> {
    return new List(
      (at, over) => this.#get(answer, `${path}${queryString({ ...parameters, cursor: at })}`, over),
      cursor,
      signal,
    );
  }
}
