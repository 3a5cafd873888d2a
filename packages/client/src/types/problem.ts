/** The last part of a problem's `type`: `/problems/NAME`. A name never changes its meaning. */
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
  | "database-full"
  | "internal"
  | "unavailable";

/**
 * The location of an error: a JSON Pointer into the body (`?name` for a query parameter, `{name}` for a path
 * parameter), or a line.
 */
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
  /** For a person: what is wrong, where, what is allowed, and what to do. */
  readonly detail: string;
  readonly errors: readonly ProblemPlace[];
  /** For a server failure: the id of its entry in the server's log. */
  readonly request_id?: string;
  /** The submission that an interrupted push left open. The same key resumes it. */
  readonly submission?: string | null;
  /** Refused lines, if none was accepted. */
  readonly rejected_count?: number;
}
