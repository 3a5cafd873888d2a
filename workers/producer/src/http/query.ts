import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import * as z from "zod";
import { queryPointer } from "./encoding.ts";

/** Items of a page. */
export const MAX_LIMIT = 1_000;
export const DEFAULT_LIMIT = 50;
const MAX_TOP_K = 1_000;

export const wholeNumber = (most: number, least = 1) => {
  const error = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, error)
    .transform(Number)
    .pipe(z.int(error).min(least, error).max(most, error))
    .meta({ parameter: { type: "integer", minimum: least, maximum: most } });
};

export const limitParameter = wholeNumber(MAX_LIMIT);
export const topKParameter = wholeNumber(MAX_TOP_K);

export const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, { error: `must be one of: ${names.join(", ")}` });

export const cursorParameter = z.string().describe("Where to continue: a `next_cursor`, unchanged.").optional();

/** In a query string, the + of an offset stands for a space. */
const TIME_RULE = "must be a time as RFC 3339, such as 2026-01-31T12:00:00Z; write a + in it as %2B";

/** A time as RFC 3339, which allows `t` and `z` too, in milliseconds. */
export const timeParameter = z
  .string()
  .toUpperCase()
  .pipe(z.iso.datetime({ offset: true, error: TIME_RULE }))
  .transform((text) => Date.parse(text))
  .meta({ parameter: { type: "string", format: "date-time" } });

const includes = ["text", "metadata"] as const;
export type Include = (typeof includes)[number];

/** Optional fields of a document, separated by commas. */
export const includeParameter = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(z.enum(includes, { error: `must be a list of: ${includes.join(", ")}, separated by commas` })))
  .meta({ parameter: { type: "array", items: { enum: includes } } });

/** For routes without parameters. */
export const noQuery = z.strictObject({});

/** Which parts of a document are shown. */
export const viewParameters = { top_k: topKParameter.optional(), include: includeParameter.optional() };

/**
 * Parses a query string by a schema. Unknown parameters are refused by name, and so are repeated ones unless the schema
 * has a list of them.
 */
export function parseQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  parameters: URLSearchParams,
): Result<z.output<z.ZodObject<Shape, z.core.$strict>>, FieldProblem[]> {
  const isList = (name: string) => schema.shape[name] instanceof z.ZodArray;
  const names = [...new Set(parameters.keys())];
  const repeated = names.filter((name) => !isList(name) && parameters.getAll(name).length > 1);
  if (repeated.length > 0) {
    return err(
      repeated.map((name) => ({ pointer: queryPointer(name), detail: "is given more than once: give it once" })),
    );
  }
  const values = names.map((name) => [name, isList(name) ? parameters.getAll(name) : parameters.get(name)] as const);
  return parseParameters(schema, Object.fromEntries(values));
}

/** The same for parameters in a record of texts. */
export function parseParameters<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  values: Readonly<Record<string, unknown>>,
): Result<z.output<z.ZodObject<Shape, z.core.$strict>>, FieldProblem[]> {
  const parsed = schema.safeParse(values);
  if (parsed.success) return ok(parsed.data);
  return err(parsed.error.issues.flatMap((issue) => problemsOf(issue, Object.keys(schema.shape))));
}

function problemsOf(issue: z.core.$ZodIssue, allowed: readonly string[]): FieldProblem[] {
  if (issue.code !== "unrecognized_keys") {
    return [{ pointer: queryPointer(String(issue.path[0] ?? "")), detail: issue.message }];
  }
  const others = allowed.length === 0 ? "none is allowed here" : `allowed here: ${allowed.join(", ")}`;
  return issue.keys.map((name) => ({ pointer: queryPointer(name), detail: `unknown query parameter; ${others}` }));
}
