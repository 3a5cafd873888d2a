import type { Shape } from "./answers/shape.ts";
import { errorOf, NOT_THE_API, notTheApi, SluiceError } from "./errors.ts";
import type { Io } from "./io.ts";
import { parseAnswer } from "./parse-answer.ts";
import { redirectOf } from "./redirect.ts";
import { addWait, NO_WAITS, waitBeforeRetry } from "./retry.ts";
import { describeFailure, isNotHttp } from "./transport.ts";

/** How requests are made. */
export interface Connection {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string;
  /** Retries of a request after a transient failure. */
  readonly retries: number;
  /** Timeout of one attempt, in milliseconds. */
  readonly timeout: number;
  /** The default `onRetry` for calls without one. */
  readonly onRetry?: OnRetry | undefined;
  readonly io: Io;
}

/** Called before each retry with the delay in milliseconds. May throw to stop retrying. */
export type OnRetry = (error: SluiceError, wait: number) => void;

export type Body = string | ReadableStream<Uint8Array>;

/** A request that is safe to repeat. */
export interface Call<T> {
  readonly method: "GET" | "POST" | "DELETE";
  /** With its query string. */
  readonly path: string;
  /** The shape of the API's answer. Any other answer comes from something else. */
  readonly answer: Shape<T>;
  /** Reads the text of an answer: as JSON by default. Returns undefined if that fails. */
  readonly parse?: (text: string) => unknown;
  /** Retries after a transient failure, if not those of the connection. */
  readonly retries?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Creates the body again for each attempt. */
  readonly body?: () => Body;
  /** Timeout of one attempt, in milliseconds; `null` means no timeout. */
  readonly timeout?: number | null;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: OnRetry | undefined;
  /** Receives the error of each attempt, whether or not a retry follows. */
  readonly onFailure?: ((error: SluiceError) => void) | undefined;
}

export interface Answer<T> {
  readonly headers: Headers;
  readonly value: T;
}

/**
 * Makes a request, retries it when that can help, and returns the parsed answer. Throws a `SluiceError`, or the reason
 * of `signal`.
 */
export async function makeCall<T>(connection: Connection, call: Call<T>): Promise<Answer<T>> {
  const { io } = connection;
  const retries = call.retries ?? connection.retries;
  let waits = NO_WAITS;
  for (;;) {
    const answer = await tryCall(connection, call);
    if (!(answer instanceof SluiceError)) return answer;
    call.onFailure?.(answer);
    const wait = waitBeforeRetry(answer, waits, retries, io.random());
    if (wait === null) throw answer;
    (call.onRetry ?? connection.onRetry)?.(answer, wait);
    await io.sleep(wait, call.signal);
    waits = addWait(waits, answer, wait);
  }
}

const NO_CONTENT = 204;
const TOO_LATE = new Error("no answer in time");

async function tryCall<T>(connection: Connection, call: Call<T>): Promise<Answer<T> | SluiceError> {
  call.signal?.throwIfAborted();
  const { url, key, io } = connection;
  const timeout = call.timeout === undefined ? connection.timeout : call.timeout;
  const over = new AbortController();
  const onAbort = () => over.abort(call.signal?.reason);
  call.signal?.addEventListener("abort", onAbort);
  const timer = timeout === null ? null : setTimeout(() => over.abort(TOO_LATE), timeout);
  try {
    const response = await io.fetch(`${url}${call.path}`, {
      method: call.method,
      headers: { authorization: `Bearer ${key}`, accept: "application/json", ...call.headers },
      signal: over.signal,
      // Following a redirect would send the documents to another origin, without the key.
      redirect: "manual",
      ...withBody(call.body?.()),
    });
    const redirect = redirectOf(url, call.path, response);
    if (redirect !== null) return redirect;
    const text = await response.text();
    if (!response.ok) return errorOf(response, text, io.now());
    const value = response.status === NO_CONTENT ? undefined : (call.parse ?? parse)(text);
    const isJson = value !== undefined || response.status === NO_CONTENT;
    const flaw = isJson ? call.answer.flaw(value, "") : "it is not JSON";
    return flaw === null ? { headers: response.headers, value: value as T } : notTheApi(response, flaw);
  } catch (error) {
    call.signal?.throwIfAborted();
    return over.signal.reason === TOO_LATE ? tookTooLong(url, timeout ?? 0) : noAnswer(url, error);
  } finally {
    if (timer !== null) clearTimeout(timer);
    call.signal?.removeEventListener("abort", onAbort);
    // The answer can arrive before the whole body is sent. The rest is not needed.
    over.abort();
  }
}

function withBody(body: Body | undefined): RequestInit & { duplex?: "half" } {
  if (body === undefined) return {};
  // Node requires `duplex` to send a stream.
  return body instanceof ReadableStream ? { body, duplex: "half" } : { body };
}

function parse(text: string): unknown {
  try {
    return parseAnswer(text);
  } catch {
    return undefined;
  }
}

function noAnswer(url: string, cause: unknown): SluiceError {
  const { isTransient, detail } = describeFailure(url, cause);
  const kind = isTransient
    ? ({ code: "no-answer", title: "No answer" } as const)
    : isNotHttp(cause)
      ? ({ code: "unreadable", title: NOT_THE_API } as const)
      : ({ code: "unreachable", title: "Not reachable" } as const);
  return new SluiceError({ status: null, ...kind, detail, cause });
}

function tookTooLong(url: string, timeout: number): SluiceError {
  const detail = `${url} did not answer within ${timeout / 1_000} s.`;
  return new SluiceError({ status: null, code: "timeout", title: "No answer in time", detail });
}

type Parameter = string | number | boolean | readonly string[] | undefined;

/** Returns a query string with the defined `parameters`, or `""`. */
export function queryString(parameters: Readonly<Record<string, Parameter>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
