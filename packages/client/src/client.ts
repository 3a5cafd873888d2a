import {
  deletedDocumentShape,
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
import { nothing, type Shape } from "./answers/shape.ts";
import { makeCall, queryString, type Call, type Connection } from "./call.ts";
import { SluiceError } from "./errors.ts";
import { Feed, type FeedIo } from "./feed.ts";
import { webIo, type Fetch, type Io } from "./io.ts";
import { List } from "./list.ts";
import type {
  CallOptions,
  DocumentOptions,
  FeedOptions,
  JobFilter,
  ListOptions,
  PauseOptions,
  PauseTarget,
  ResultsOptions,
  SubmissionFilter,
} from "./options.ts";
import { cutIds, documentsPath, pauseBody, toTime, view } from "./parameters.ts";
import { push, type PushOptions } from "./push/push.ts";
import type { PushResult } from "./push/result.ts";
import type { PushInput } from "./push/source.ts";
import type {
  DeletedDocument,
  Document,
  DocumentList,
  Health,
  Job,
  MalformedMessage,
  Page,
  Pause,
  PauseBody,
  Replayed,
  Resumed,
  RetryAccepted,
  Stats,
  Submission,
  SubmissionPage,
} from "./types.ts";
import { wrongUrl } from "./url.ts";
import { waitFor, type WaitOptions } from "./wait.ts";

export interface SluiceOptions {
  /** Where the API is: `https://sluice.example.workers.dev`. */
  readonly url: string;
  readonly key: string;
  /** In place of the global one, such as a service binding's. */
  readonly fetch?: Fetch | undefined;
  /** Further tries of a request after a failure that may pass; 5. */
  readonly retries?: number | undefined;
  /** Milliseconds that a request other than a push may take; 60,000. */
  readonly timeout?: number | undefined;
  /** Told before each wait for another try, of so many milliseconds. A push and a feed tell of their own. */
  readonly onRetry?: ((error: SluiceError, wait: number) => void) | undefined;
}

const RETRIES = 5;
const TIMEOUT = 60_000;
const RESULTS_PAGE = 1_000;
const FEED_WAIT_SECONDS = 25;

/**
 * The API of a Sluice. Every method tries again where that is safe and may help, and throws a
 * `SluiceError`, or the reason of the signal that it was given.
 */
export class Sluice {
  readonly #connection: Connection;

  /** `io` replaces the world outside, for tests. */
  constructor(options: SluiceOptions, io: Partial<Io> = {}) {
    // A header's own complaint would show the key.
    if (!/^[\x21-\x7e]+$/.test(options.key)) throw new TypeError("key must be printable ASCII without spaces");
    const wrong = wrongUrl("url", options.url);
    if (wrong !== null) throw new TypeError(wrong);
    this.#connection = {
      url: options.url.replace(/\/+$/, ""),
      key: options.key,
      retries: options.retries ?? RETRIES,
      timeout: options.timeout ?? TIMEOUT,
      onRetry: options.onRetry,
      io: { ...webIo, ...(options.fetch && { fetch: options.fetch }), ...io },
    };
  }

  /** Pushes documents: a list, anything iterable, a stream, or one. See `PushOptions`. */
  push(documents: PushInput, options: PushOptions = {}): Promise<PushResult> {
    return push(this.#connection, documents, options);
  }

  submission(id: string, options: CallOptions = {}): Promise<Submission> {
    return this.#get(submissionShape, `/v1/submissions/${encodeURIComponent(id)}`, options.signal);
  }

  /** The newest first. */
  submissions(filter: SubmissionFilter = {}): List<Submission, SubmissionPage> {
    const { status, collection, label, since, limit } = filter;
    return this.#list(
      submissionPageShape,
      "/v1/submissions",
      { status, collection, label, since: toTime(since), limit },
      filter,
    );
  }

  /** Reads a submission until every document of it ended, or until what the options say. */
  wait(id: string, options: WaitOptions = {}): Promise<Submission> {
    return waitFor((signal) => this.submission(id, { signal }), this.#connection.io, options);
  }

  /** A submission's recorded documents. */
  results(id: string, options: ResultsOptions = {}): List<Document> {
    const { status, limit = RESULTS_PAGE } = options;
    return this.#list(
      documentPageShape,
      `/v1/submissions/${encodeURIComponent(id)}/results`,
      { status, ...view(options), limit },
      options,
    );
  }

  /** Cancels what is not dispatched yet, and ends a retry. */
  cancel(id: string, options: CallOptions = {}): Promise<Submission> {
    return this.#post(submissionShape, `/v1/submissions/${encodeURIComponent(id)}/cancel`, undefined, options.signal);
  }

  /** Queues failed documents again, all or those of one failure code. */
  retry(id: string, options: CallOptions & { readonly code?: string | undefined } = {}): Promise<RetryAccepted> {
    const path = `/v1/submissions/${encodeURIComponent(id)}/retry${queryString({ code: options.code })}`;
    return this.#post(retryAcceptedShape, path, undefined, options.signal);
  }

  document(collection: string, id: string, options: DocumentOptions = {}): Promise<Document> {
    const path = `${documentsPath(collection)}/${encodeURIComponent(id)}${queryString(view(options))}`;
    return this.#get(documentShape, path, options.signal);
  }

  /** Any number of documents of a collection, in the order asked, 100 a request. */
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

  /** Forgets all versions of a document. */
  deleteDocument(collection: string, id: string, options: CallOptions = {}): Promise<DeletedDocument> {
    const path = `${documentsPath(collection)}/${encodeURIComponent(id)}`;
    return this.#remove(
      { method: "DELETE", path, answer: deletedDocumentShape, signal: options.signal },
      { deleted: 0 },
    );
  }

  /** Documents as they end, across submissions. What is canceled is not among them. */
  feed(options: FeedOptions = {}): Feed {
    const { collection, from = "start", wait: patience = FEED_WAIT_SECONDS, signal } = options;
    const { io, timeout } = this.#connection;
    let away = false;
    const onRetry = (error: SluiceError, wait: number) => {
      away = true;
      options.onRetry?.({ error, wait });
    };
    const readPage: FeedIo["readPage"] = async (at, wait) => {
      const path = `/v1/results${queryString({ ...at, collection, wait, ...view(options) })}`;
      const most = timeout + wait * 1_000;
      const page = await this.#call({ method: "GET", path, answer: documentPageShape, timeout: most, signal, onRetry });
      if (away) options.onRetry?.(null);
      away = false;
      return page;
    };
    const feedIo = { readPage, patience, sleep: (ms: number) => io.sleep(ms, signal), now: io.now };
    return new Feed(feedIo, options.cursor ?? undefined, from);
  }

  job(id: string, options: CallOptions = {}): Promise<Job> {
    return this.#get(jobShape, `/v1/jobs/${encodeURIComponent(id)}`, options.signal);
  }

  /** The newest first. */
  jobs(filter: JobFilter = {}): List<Job> {
    const { status, lane, limit } = filter;
    return this.#list(jobPageShape, "/v1/jobs", { status, lane, limit }, filter);
  }

  /** Stops dispatching: everything, a model or a submission. Gives the pauses in force. */
  async pause(target: PauseTarget = {}, { reason, signal }: PauseOptions = {}): Promise<readonly Pause[]> {
    const body: PauseBody = { ...pauseBody(target), ...(reason !== undefined && { reason }) };
    return (await this.#post(pauseListShape, "/v1/pause", body, signal)).data;
  }

  /** Ends such a pause. Gives it, and those still in force. */
  resume(target: PauseTarget = {}, options: CallOptions = {}): Promise<Resumed> {
    return this.#post(resumedShape, "/v1/resume", pauseBody(target), options.signal);
  }

  /** Quarantined messages, without their text. */
  malformed(options: ListOptions = {}): List<MalformedMessage> {
    return this.#list(malformedPageShape, "/v1/malformed", { limit: options.limit }, options);
  }

  /** Sends a quarantined message to its queue again. */
  replayMalformed(id: string, options: CallOptions = {}): Promise<Replayed> {
    const path = `/v1/malformed/${encodeURIComponent(id)}/replay`;
    return this.#remove({ method: "POST", path, answer: replayedShape, signal: options.signal }, { replayed: 0 });
  }

  /** Forgets a quarantined message, such as one that cannot be sent again. */
  discardMalformed(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/malformed/${encodeURIComponent(id)}`;
    return this.#remove({ method: "DELETE", path, answer: nothing, signal: options.signal }, undefined);
  }

  stats(options: CallOptions = {}): Promise<Stats> {
    return this.#get(statsShape, "/v1/stats", options.signal);
  }

  /** Whether the API is there at all. */
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

  /** A call after which its thing is gone: `none` where an earlier try went through and its answer was lost. */
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
