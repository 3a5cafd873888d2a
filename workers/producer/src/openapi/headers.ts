import type { ProblemName } from "../http/problems.ts";
import type { JsonSchema } from "./schemas.ts";

/** Headers of answers, as the document tells them. */
const TOLD = {
  Location: "The submission's path.",
  Link: 'Where NDJSON was asked for: the next page, as `rel="next"`.',
  "Idempotency-Replayed": "`true`: this is the answer that an earlier request with the same key was given.",
  "Idempotency-Resumed": "The push went on with one that broke off: as many of its documents were there already.",
  "Retry-After": "Seconds after which the same request may succeed.",
  "WWW-Authenticate": "`Bearer`.",
  Allow: "The methods that the path takes.",
  "Accept-Post": "The types that are taken.",
  "Accept-Encoding": "`gzip`.",
} as const;
export type AnswerHeader = keyof typeof TOLD;

const OF_PROBLEMS: Readonly<Partial<Record<ProblemName, readonly AnswerHeader[]>>> = {
  unauthorized: ["WWW-Authenticate"],
  "method-not-allowed": ["Allow"],
  "too-many-requests": ["Retry-After"],
  unavailable: ["Retry-After"],
  "unsupported-media-type": ["Accept-Post", "Accept-Encoding"],
};

/** `headers` of a response that may have any of these; nothing where there are none. */
export function headersOf(names: readonly AnswerHeader[]): JsonSchema {
  if (names.length === 0) return {};
  const entries = names.map((name) => [name, { description: TOLD[name], schema: { type: "string" } }]);
  return { headers: Object.fromEntries(entries) as JsonSchema };
}

/** `passing`: those that pass by themselves on this route, though not on every one. */
export function headersOfProblems(names: readonly ProblemName[], passing: readonly ProblemName[]): JsonSchema {
  const retryAfter = names.some((name) => passing.includes(name)) ? (["Retry-After"] as const) : [];
  return headersOf([...new Set([...names.flatMap((name) => OF_PROBLEMS[name] ?? []), ...retryAfter])]);
}
