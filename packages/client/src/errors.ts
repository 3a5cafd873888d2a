import type { PushResult } from "./push/result.ts";
import { problemPlaceShape, problemShape } from "./answers/answers.ts";
import type { Problem, ProblemName, ProblemPlace } from "./types.ts";

/**
 * What went wrong, in a word to switch on. Those that are no `ProblemName` come from the client itself:
 * `no-answer` (nothing answered, or the connection broke), `timeout` (no answer in time), `unreachable`
 * (no connection until something is changed: the certificate, the name, the port), `redirected` (to another
 * address, which the request did not follow) and `unreadable` (an answer that is none of this API's, such as
 * a proxy's page, another service's JSON, or what is not HTTP at all).
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

/** A request that did not succeed, after the tries that were worth it. An aborted one throws the signal's reason. */
export class SluiceError extends Error {
  override readonly name: string = "SluiceError";
  readonly code: ErrorCode;
  /** `null`: there was no answer. */
  readonly status: number | null;
  /** `/problems/NAME` as the API gave it, else `about:blank`. */
  readonly type: string;
  readonly title: string;
  /** What is wrong, where, what is allowed, what to do. */
  readonly detail: string;
  /** The places in what was sent that are at fault. */
  readonly errors: readonly ProblemPlace[];
  /** Seconds after which another try may succeed, where the API says so. */
  readonly retryAfter: number | null;
  /** Under which the server's log has more. */
  readonly requestId: string | null;
  /** The problem as it came. */
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

/** A push that did not go through. The same documents under `pushed.idempotencyKey` go on where it ended. */
export class SluicePushError extends SluiceError {
  override readonly name = "SluicePushError";
  /** What was taken in before, and every line that was refused. */
  readonly pushed: PushResult;
  /** Documents that went out, at most: some of them may not have arrived. */
  readonly sent: number;

  constructor(error: SluiceError, pushed: PushResult, sent: number) {
    const { code, status, title, detail, retryAfter, requestId, problem } = error;
    const errors = code === "nothing-acceptable" ? pushed.rejected : error.errors;
    super({ code, status, title, detail, errors, retryAfter, requestId, problem, cause: error });
    this.pushed = pushed;
    this.sent = sent;
  }
}

/** The error that an answer other than 2xx stands for. `text` is its body; `now` in milliseconds. */
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

/** The title of an error about an answer of something else. */
export const NOT_THE_API = "Not the API's answer";

/** The error for an answer that is not the API's. `flaw` says what differs, where an answer was expected. */
export function notTheApi({ status }: Response, flaw: string | null, retryAfter: number | null = null): SluiceError {
  const detail =
    `The answer, with status ${status}, is not this API's: does the URL lead to it, or to something in front of it?` +
    (flaw === null ? "" : ` (${flaw})`);
  return new SluiceError({ status, code: "unreadable", title: NOT_THE_API, detail, retryAfter });
}

/** Seconds; a header may give them or a date. */
function readRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1_000));
}

/** `null`: the body is not a problem of this API. */
function readProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text);
    if (problemShape.flaw(value, "") !== null) return null;
    const problem = value as Problem;
    if (!/\/problems\/[a-z0-9-]+$/.test(problem.type)) return null;
    // A newer server may name places in another way.
    return { ...problem, errors: problem.errors.filter((place) => problemPlaceShape.flaw(place, "") === null) };
  } catch {
    return null;
  }
}
