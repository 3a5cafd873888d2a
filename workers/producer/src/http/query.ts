import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import * as z from "zod";

/** Most a list gives at once. */
export const MAX_LIMIT = 1_000;
export const DEFAULT_LIMIT = 50;
const MAX_TOP_K = 1_000;

const wholeNumber = (most: number) => {
  const error = `must be a whole number from 1 to ${most}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, error)
    .transform(Number)
    .pipe(z.int(error).min(1, error).max(most, error));
};

export const limitParameter = wholeNumber(MAX_LIMIT);
export const topKParameter = wholeNumber(MAX_TOP_K);

const includes = ["text", "metadata"] as const;
export type Include = (typeof includes)[number];

/** What a document shows besides its usual fields, separated by commas. */
export const includeParameter = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(z.enum(includes, { error: `must be a list of: ${includes.join(", ")}, separated by commas` })));

/** What of a document is shown. */
export const viewParameters = { top_k: topKParameter.optional(), include: includeParameter.optional() };

/** The parameters of a query string by a schema: unknown and repeated ones are refused by name. */
export function parseQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  parameters: URLSearchParams,
): Result<z.output<z.ZodObject<Shape, z.core.$strict>>, FieldProblem[]> {
  const repeated = [...new Set(parameters.keys())].filter((name) => parameters.getAll(name).length > 1);
  if (repeated.length > 0) {
    return err(repeated.map((name) => ({ pointer: place(name), detail: "is given more than once: give it once" })));
  }
  const parsed = schema.safeParse(Object.fromEntries(parameters));
  if (parsed.success) return ok(parsed.data);
  return err(parsed.error.issues.flatMap((issue) => problemsOf(issue, Object.keys(schema.shape))));
}

function problemsOf(issue: z.core.$ZodIssue, allowed: readonly string[]): FieldProblem[] {
  if (issue.code !== "unrecognized_keys") {
    return [{ pointer: place(String(issue.path[0] ?? "")), detail: issue.message }];
  }
  const others = allowed.length === 0 ? "none is allowed here" : `allowed here: ${allowed.join(", ")}`;
  return issue.keys.map((name) => ({ pointer: place(name), detail: `unknown query parameter; ${others}` }));
}

function place(name: string): string {
  return `?${name.length > 64 ? `${name.slice(0, 64)}…` : name}`;
}
