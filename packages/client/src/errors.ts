import { problemPlaceShape, problemShape } from "./answers/answers.ts";
import type { PushResult } from "./push/result.ts";
import type { Problem, ProblemName, ProblemPlace } from "./types.ts";

/**
 * The kind of error, for a `switch`. Codes other than `ProblemName` come from the client itself: `no-answer` (nothing
 * answered, or the connection broke), `timeout` (no answer in time), `unreachable` (no connection until something is
 * fixed: the certificate, the host name, the port), `redirected` (a redirect, which the client does not follow) and
 * `unreadable` (an answer from something other than this API, such as a proxy's page, another service's JSON, or
 * anything that is not HTTP).
 */
export type ErrorCode = ProblemName | "no-answer" | "timeout" | "unreachable" | "redirected" | "unreadable";

interface ErrorParts {
  readonly status: number | null;
  readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  readonly errors?: readonly ProblemPlace[];
  readonly retryAfter?: number | null;
  readonly requestId?: string | null;
  readonly problem?: Problem | null;
  readonly cause?: unknown;
}

/** A request that failed after its retries. An aborted request throws the signal's reason instead. */
export class SluiceError extends Error {
  override readonly name: string = "SluiceError";
  readonly code: ErrorCode;
  /** `null` if there was no answer. */
  readonly status: number | null;
  /** `/problems/NAME` from the API, else `about:blank`. */
  readonly type: string;
  readonly title: string;
  /** What is wrong, where, what is allowed, and what to do. */
  readonly detail: string;
  /** The locations of the errors in the request. */
  readonly errors: readonly ProblemPlace[];
  /** Seconds to wait before a retry, if the API gives them. */
  readonly retryAfter: number | null;
  /** Find more about the failure in the server's log under this id. */
  readonly requestId: string | null;
  /** The problem as received. */
  readonly problem: Problem | null;

  constructor(parts: ErrorParts) {
    super(`${parts.title}: ${parts.detail}`, parts.cause === undefined ? {} : { cause: parts.cause });
    this.code = parts.code;
    this.status = parts.status;
    this.type = parts.problem?.type ?? "about:blank";
    this.title = parts.title;
    this.detail = parts.detail;
    this.errors = parts.errors ?? [];
    this.retryAfter = parts.retryAfter ?? null;
    this.requestId = parts.requestId ?? null;
    this.problem = parts.problem ?? null;
  }
}

/** A push that failed. Push the same documents with `pushed.idempotencyKey` to resume it. */
export class SluicePushError extends SluiceError {
  override readonly name = "SluicePushError";
  /** The documents accepted before the failure, and every refused line. */
  readonly pushed: PushResult;
  /** Maximum documents that were sent. Some of them may not have arrived. */
  readonly sent: number;

  constructor(error: SluiceError, pushed: PushResult, sent: number) {
    const { code, status, title, detail, retryAfter, requestId, problem } = error;
    const errors = code === "nothing-acceptable" ? pushed.rejected : error.errors;
    super({ code, status, title, detail, errors, retryAfter, requestId, problem, cause: error });
    this.pushed = pushed;
    this.sent = sent;
  }
}

/** Returns the error for an answer other than 2xx. `text` is its body; `now` is in milliseconds. */
export function errorOf(response: Response, text: string, now: number): SluiceError {
  const { status, headers } = response;
  const retryAfter = readRetryAfter(headers.get("retry-after"), now);
  const problem = readProblem(text);
  if (problem === null) return notTheApi(response, null, retryAfter);
  return new SluiceError({
    status,
    code: problem.type.slice(problem.type.lastIndexOf("/") + 1) as ProblemName,
    title: problem.title,
    detail: problem.detail,
    errors: problem.errors,
    retryAfter,
    requestId: problem.request_id ?? null,
    problem,
  });
}

/** The title of an error about an answer that does not come from the API. */
export const NOT_THE_API = "Not the API's answer";

/**
 * Returns the error for an answer that does not come from the API. `flaw` describes the mismatch, if an answer was
 * parsed.
 */
export function notTheApi({ status }: Response, flaw: string | null, retryAfter: number | null = null): SluiceError {
  const detail =
    `The answer (status ${status}) is not the API's. Check the URL, and any proxy in front of the API.` +
    (flaw === null ? "" : ` (${flaw})`);
  return new SluiceError({ status, code: "unreadable", title: NOT_THE_API, detail, retryAfter });
}

/** Seconds to wait. A header gives seconds or a date. */
function readRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1_000));
}

/** `null` if the body is not a problem of this API. */
function readProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text);
    if (problemShape.flaw(value, "") !== null) return null;
    const problem = value as Problem;
    if (!/\/problems\/[a-z0-9-]+$/.test(problem.type)) return null;
    // A newer server may describe locations in another way.
    return { ...problem, errors: problem.errors.filter((location) => problemPlaceShape.flaw(location, "") === null) };
  } catch {
    return null;
  }
}
