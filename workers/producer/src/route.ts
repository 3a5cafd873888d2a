import { err, ok, type Result } from "@sluice/core";
import type * as z from "zod";
import type { ApiContext, Call, Handler } from "./context.ts";
import { readJsonBody, type JsonBody } from "./http/json-body.ts";
import type { ApiKey, Scope } from "./http/keys.ts";
import { invalid, type Problem, type ProblemName } from "./http/problems.ts";
import { parseQuery } from "./http/query.ts";
import { jsonResponse } from "./http/respond.ts";
import type { AnswerHeader } from "./openapi/headers.ts";
import type { Verb } from "./verb.ts";

/** Why a body cannot be read. */
export const BODY_PROBLEMS = [
  "not-json",
  "not-utf8",
  "broken-body",
  "body-too-large",
  "unsupported-media-type",
] as const;

type Query = z.ZodObject<Record<string, z.ZodType>, z.core.$strict>;

export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** What the key must allow. */
  readonly scope: Scope;
  readonly handle: Handler;
  /** Its operation in the OpenAPI document. */
  readonly id: string;
  readonly summary: string;
  /** A longer description. */
  readonly notes?: string;
  readonly query: Query;
  /** Without it, a body is refused. */
  readonly body?: { readonly schema: z.ZodType; readonly required: boolean; readonly ndjson?: z.ZodType };
  readonly headers?: readonly string[];
  readonly status?: number;
  /** `null`: an empty answer. */
  readonly answer: z.ZodType | null;
  /** The media type of the answer; JSON by default. */
  readonly type?: string;
  readonly answerHeaders?: readonly AnswerHeader[];
  /** Each line, if NDJSON may be asked for. */
  readonly line?: z.ZodType;
  /** Besides those that every route has. */
  readonly problems: readonly ProblemName[];
  /** Those of them that may pass by themselves: they have `Retry-After`. */
  readonly transient?: readonly ProblemName[];
}

/** `{ collection: string; id: string }` of `/v1/collections/:collection/documents/:id`. */
type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & PathParameters<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

/** What a verb gets from a request. */
type Input<Path extends string, Schema extends Query, Shape extends z.ZodRawShape> = PathParameters<Path> & {
  readonly key: ApiKey;
  readonly query: z.output<Schema>;
  readonly body: z.output<z.ZodObject<Shape, z.core.$strict>>;
};

type RouteOf<Path extends string, Schema extends Query, Shape extends z.ZodRawShape> = Omit<
  Route,
  "handle" | "body"
> & {
  readonly path: Path;
  readonly query: Schema;
  readonly body?: JsonBody<Shape> & { readonly required: boolean };
  readonly handle: (
    context: ApiContext,
    input: Input<Path, Schema, Shape>,
    call: Call,
  ) => Promise<Result<Response, Problem>>;
};

/** A route whose path, query and body are parsed here, by what it says about them, before its verb is called. */
export function route<const Path extends string, Schema extends Query, Shape extends z.ZodRawShape = z.ZodRawShape>(
  definition: RouteOf<Path, Schema, Shape>,
): Route {
  const { handle, query: schema, body: jsonBody } = definition;
  return {
    ...definition,
    handle: async (context, call) => {
      const query = parseQuery(schema, call.url.searchParams);
      if (!query.ok) return err(invalid(query.error));
      const body = jsonBody === undefined ? ok({}) : await readJsonBody(call.request, jsonBody);
      if (!body.ok) return body;
      const input = { ...call.parameters, key: call.key, query: query.value, body: body.value };
      return handle(context, input as unknown as Input<Path, Schema, Shape>, call);
    },
  };
}

/** Answers with the value of a verb, as JSON unless `write` says otherwise. */
export function answerWith<Input, Value>(
  verb: Verb<Input, Value>,
  write: (value: Value) => Response = jsonResponse,
): (context: ApiContext, input: Input) => Promise<Result<Response, Problem>> {
  return async (context, input) => {
    const result = await verb(context, input);
    return result.ok ? ok(write(result.value)) : result;
  };
}
