import type * as z from "zod";
import type { Handler } from "./context.ts";
import type { Scope } from "./http/keys.ts";
import type { ProblemName } from "./http/problems.ts";
import type { AnswerHeader } from "./openapi/headers.ts";

/** Why a body cannot be read. */
export const BODY_PROBLEMS = [
  "not-json",
  "not-utf8",
  "broken-body",
  "body-too-large",
  "unsupported-media-type",
] as const;

export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** What the key must allow. */
  readonly scope: Scope;
  readonly handle: Handler;
  /** What the OpenAPI document says of it. */
  readonly id: string;
  readonly summary: string;
  /** What there is to know besides. */
  readonly notes?: string;
  readonly query: z.ZodObject<Record<string, z.ZodType>>;
  /** `null`: the body is not needed. */
  readonly body?: { readonly schema: z.ZodType; readonly required: boolean; readonly ndjson?: z.ZodType };
  readonly headers?: readonly string[];
  readonly status?: number;
  /** `null`: nothing. */
  readonly answer: z.ZodType | null;
  readonly answerHeaders?: readonly AnswerHeader[];
  /** What each line holds, where NDJSON may be asked for. */
  readonly line?: z.ZodType;
  /** Besides those that every route has. */
  readonly problems: readonly ProblemName[];
  /** Those of them that pass by themselves, and say when in `Retry-After`. */
  readonly passing?: readonly ProblemName[];
}
