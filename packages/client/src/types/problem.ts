/** What a problem's `type` ends in: `/problems/NAME`. A name never changes its meaning. */
export type ProblemName =
  | "empty-body"
  | "not-utf8"
  | "not-json"
  | "broken-body"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "conflict"
  | "body-too-large"
  | "unsupported-media-type"
  | "invalid"
  | "idempotency-key-reused"
  | "nothing-acceptable"
  | "too-many-requests"
  | "internal"
  | "unavailable";

/** A place at fault: a JSON Pointer into the body (`?name` for a query parameter, `{name}` for one of the path), or a line. */
export type ProblemPlace =
  | { readonly pointer: string; readonly detail: string }
  | { readonly line: number; readonly detail: string };

/** A refusal or failure, `application/problem+json` (RFC 9457). */
export interface Problem {
  /** `/problems/NAME`. */
  readonly type: string;
  readonly title: string;
  /** The HTTP status. */
  readonly status: number;
  /** For a person: what is wrong, where, what is allowed, what to do. */
  readonly detail: string;
  readonly errors: readonly ProblemPlace[];
  /** Under which the log has more, for a failure of the server. */
  readonly request_id?: string;
  /** What a push that broke off half way left open; the same key goes on under it. */
  readonly submission?: string | null;
  /** Lines that were refused, where none was accepted. */
  readonly rejected_count?: number;
}
