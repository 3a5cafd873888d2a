import type { Shape } from "./answers/shape.ts";
import { errorOf, NOT_THE_API, notTheApi, SluiceError } from "./errors.ts";
import type { Io } from "./io.ts";
import { parseAnswer } from "./parse-answer.ts";
import { redirectOf } from "./redirect.ts";
import { addWait, NO_WAITS, waitBeforeRetry } from "./retry.ts";
import { describeFailure, isNotHttp } from "./transport.ts";

/** How requests are made. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string;
  /** Further tries of a request that failed for a reason that may pass. */
  readonly retries: number;
  /** Milliseconds for one try. */
  readonly timeout: number;
  /** Told of calls that have no one of their own to tell. */
  readonly onRetry?: OnRetry | undefined;
  readonly io: Io;
}

/** Told before each wait for another try, of so many milliseconds; may throw to end it. */
export type OnRetry = (error: SluiceError, wait: number) => void;

export type Body = string | ReadableStream<Uint8Array>;

/** A request that may safely be made again. */
export interface Call<T> {
  readonly method: "GET" | "POST" | "DELETE";
  /** With its query string. */
  readonly path: string;
  /** What the API answers. Anything else is not its answer. */
  readonly answer: Shape<T>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes the body anew for each try. */
  readonly body?: () => Body;
  /** Milliseconds for one try; `null`: as long as it takes. */
  readonly timeout?: number | null;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: OnRetry | undefined;
  /** Receives the error of each try, whether or not another one follows. */
  readonly onFailure?: ((error: SluiceError) => void) | undefined;
}

export interface Answer<T> {
  readonly headers: Headers;
  readonly value: T;
}

/**
 * Makes a request, again where that may help, and gives the answer's JSON. Throws a `SluiceError`, or
 * the reason of `signal`.
 */
export async function makeCall<T>(connection: Connection, call: Call<T>): Promise<Answer<T>> {
  const { io, retries } = connection;
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
      // Another origin would get the documents, and not the key.
      redirect: "manual",
      ...withBody(call.body?.()),
    });
    const redirect = redirectOf(url, call.path, response);
    if (redirect !== null) return redirect;
    const text = await response.text();
    if (!response.ok) return errorOf(response, text, io.now());
    const value = response.status === NO_CONTENT ? undefined : parse(text);
    const isJson = value !== undefined || response.status === NO_CONTENT;
    const flaw = isJson ? call.answer.flaw(value, "") : "it is not JSON";
    return flaw === null ? { headers: response.headers, value: value as T } : notTheApi(response, flaw);
  } catch (error) {
    call.signal?.throwIfAborted();
    return over.signal.reason === TOO_LATE ? tookTooLong(url, timeout ?? 0) : noAnswer(url, error);
  } finally {
    if (timer !== null) clearTimeout(timer);
    call.signal?.removeEventListener("abort", onAbort);
    // An answer may come before all of the body was sent: the rest of it is not wanted.
    over.abort();
  }
}

function withBody(body: Body | undefined): RequestInit & { duplex?: "half" } {
  if (body === undefined) return {};
  // Node wants to be told that a stream goes out before the answer comes in.
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

/** A query string with what is given of `parameters`, or `""`. */
export function queryString(parameters: Readonly<Record<string, Parameter>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
