import type { FieldProblem, Result } from "@sluice/core";

/** A refused line of NDJSON, counted from 1. */
export interface LineProblem {
  readonly line: number;
  readonly detail: string;
}

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

/** Every problem there is. `type` is `/problems/NAME` and never changes its meaning. */
export const PROBLEMS = {
  "empty-body": { status: 400, title: "The body is empty" },
  "not-utf8": { status: 400, title: "The body is not valid UTF-8" },
  "not-json": { status: 400, title: "The body is not JSON" },
  "broken-body": { status: 400, title: "The body was interrupted or cannot be decompressed" },
  unauthorized: { status: 401, title: "A valid API key is required" },
  forbidden: { status: 403, title: "The API key does not allow this" },
  "not-found": { status: 404, title: "Not found" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  conflict: { status: 409, title: "Conflict with the current state" },
  "body-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The body's type or encoding is not supported" },
  invalid: { status: 422, title: "The request is not valid" },
  "idempotency-key-reused": { status: 422, title: "The Idempotency-Key was used for another push" },
  "nothing-acceptable": { status: 422, title: "No line has a valid document" },
  "too-many-requests": { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Internal error" },
  "database-full": { status: 503, title: "The database is full" },
  unavailable: { status: 503, title: "Temporarily unavailable" },
} as const satisfies Record<string, ProblemKind>;

export type ProblemName = keyof typeof PROBLEMS;

/** Why a request failed, before that is a response. */
export interface Problem {
  readonly name: ProblemName;
  /** For the caller: what is wrong, where, what is allowed, what to do. */
  readonly detail: string;
  readonly errors?: readonly (FieldProblem | LineProblem)[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members (RFC 9457, 3.2). */
  readonly members?: Readonly<Record<string, string | number | null>>;
}

/** Maximum errors listed for one request: more would not help the caller. Bodies are not checked beyond them. */
export const MAX_ERRORS = 20;

/** A request with errors: pointers into its body, `?name` for a query parameter, `{name}` for a path parameter. */
export function invalid(errors: readonly FieldProblem[]): Problem {
  const [first] = errors;
  const pointer = first === undefined || first.pointer === "" ? "" : `${first.pointer}: `;
  const least = errors.length >= MAX_ERRORS ? "at least " : "";
  const more = errors.length > 1 ? ` (and ${least}${errors.length - 1} more)` : "";
  return {
    name: "invalid",
    detail: `${pointer}${first?.detail ?? "not valid"}${more}`,
    errors: errors.slice(0, MAX_ERRORS),
  };
}

/** Seconds. Retention runs with the poller, once a minute. */
const ROOM_RETRY_SECONDS = "60";

/** A push that the database has no room for. */
export function noRoom(detail: string): Problem {
  return { name: "database-full", detail, headers: { "retry-after": ROOM_RETRY_SECONDS } };
}

/** The response to a request, whether it succeeded or ended with a problem. Only here a problem becomes a response. */
export function responseOf(result: Result<Response, Problem>): Response {
  if (result.ok) return result.value;
  const problem = result.error;
  const { status, title } = PROBLEMS[problem.name];
  const body = {
    type: `/problems/${problem.name}`,
    title,
    status,
    detail: problem.detail,
    errors: problem.errors ?? [],
    ...problem.members,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json", ...problem.headers },
  });
}
