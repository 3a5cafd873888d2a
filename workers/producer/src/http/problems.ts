import type { FieldProblem, Result } from "@sluice/core";

/** The place of a refused line, counted from 1. */
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
  "not-utf8": { status: 400, title: "The body is not UTF-8" },
  "not-json": { status: 400, title: "The body is not JSON" },
  "broken-body": { status: 400, title: "The body broke off or cannot be unpacked" },
  unauthorized: { status: 401, title: "A valid API key is needed" },
  forbidden: { status: 403, title: "The API key does not allow this" },
  "not-found": { status: 404, title: "There is no such thing" },
  "method-not-allowed": { status: 405, title: "The method is not allowed here" },
  conflict: { status: 409, title: "It cannot be done as things stand" },
  "body-too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "The body's type or encoding is not supported" },
  invalid: { status: 422, title: "What was sent is not valid" },
  "idempotency-key-reused": { status: 422, title: "The Idempotency-Key was used for another push" },
  "nothing-acceptable": { status: 422, title: "No line holds an acceptable document" },
  "too-many-requests": { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Something went wrong here" },
  unavailable: { status: 503, title: "Not possible for now" },
} as const satisfies Record<string, ProblemKind>;

export type ProblemName = keyof typeof PROBLEMS;

/** A refusal in words, before it is a response. */
export interface Problem {
  readonly name: ProblemName;
  /** For the person who gets it: what is wrong, where, what is allowed, what to do. */
  readonly detail: string;
  readonly errors?: readonly (FieldProblem | LineProblem)[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members (RFC 9457, 3.2). */
  readonly members?: Readonly<Record<string, string | number | null>>;
}

/** The places in what was sent that are at fault; a query parameter's place is written `?name`, a path's `{name}`. */
export function invalid(errors: readonly FieldProblem[]): Problem {
  const [first] = errors;
  const place = first === undefined || first.pointer === "" ? "" : `${first.pointer}: `;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return { name: "invalid", detail: `${place}${first?.detail ?? "not valid"}${more}`, errors };
}

/** The response of a request that succeeded, or the problem that ended it as one. Nothing else makes a response of a problem. */
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
