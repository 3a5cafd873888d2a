import type { ProblemName } from "../http/problems.ts";
import type { JsonSchema } from "./schemas.ts";

/** Headers of answers, with their descriptions. */
const DESCRIPTIONS = {
  Location: "The submission's path.",
  Link: 'With NDJSON, the next page as `rel="next"`.',
  "Idempotency-Replayed": "`true`: this is the answer to an earlier request with the same key.",
  "Idempotency-Resumed": "The push resumed an interrupted one, of which this many documents were already recorded.",
  "Retry-After": "Seconds after which the same request may succeed.",
  "WWW-Authenticate": "`Bearer`.",
  Allow: "The methods of the path.",
  "Accept-Post": "The supported media types.",
  "Accept-Encoding": "`gzip`.",
} as const;
export type AnswerHeader = keyof typeof DESCRIPTIONS;

const OF_PROBLEMS: Readonly<Partial<Record<ProblemName, readonly AnswerHeader[]>>> = {
  unauthorized: ["WWW-Authenticate"],
  "method-not-allowed": ["Allow"],
  "too-many-requests": ["Retry-After"],
  "database-full": ["Retry-After"],
  unavailable: ["Retry-After"],
  "unsupported-media-type": ["Accept-Post", "Accept-Encoding"],
};

/** `headers` of a response that may have any of these; empty for none. */
export function headersOf(names: readonly AnswerHeader[]): JsonSchema {
  if (names.length === 0) return {};
  const entries = names.map((name) => [name, { description: DESCRIPTIONS[name], schema: { type: "string" } }]);
  return { headers: Object.fromEntries(entries) as JsonSchema };
}

/** `transient`: problems that may pass by themselves on this route, though not on every one. */
export function headersOfProblems(names: readonly ProblemName[], transient: readonly ProblemName[]): JsonSchema {
  const retryAfter = names.some((name) => transient.includes(name)) ? (["Retry-After"] as const) : [];
  return headersOf([...new Set([...names.flatMap((name) => OF_PROBLEMS[name] ?? []), ...retryAfter])]);
}
