import { err, ok, problemsOf, type Result } from "@sluice/core";
import type * as z from "zod";
import { readBody, readText, typeProblem } from "./body.ts";
import { parseJson } from "./json.ts";
import { invalid, type Problem } from "./problems.ts";
import { JSON_TYPE } from "./respond.ts";

/** A small JSON body, read whole and parsed by a schema. */
export interface JsonBody<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly schema: z.ZodObject<Shape, z.core.$strict>;
  readonly maxBytes: number;
  /** What to say about a larger one. */
  readonly instead: string;
}

/** Reads a JSON body. No body, or an empty one, is an empty object. */
export async function readJsonBody<Shape extends z.ZodRawShape>(
  request: Request,
  { schema, maxBytes, instead }: JsonBody<Shape>,
): Promise<Result<z.output<z.ZodObject<Shape, z.core.$strict>>, Problem>> {
  const json = await readJson(request, maxBytes, instead);
  if (!json.ok) return json;
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return ok(parsed.data);
  return err(invalid(problemsOf(parsed.error, json.value, () => Object.keys(schema.shape))));
}

async function readJson(request: Request, maxBytes: number, instead: string): Promise<Result<unknown, Problem>> {
  const body = readBody(request);
  if (!body.ok) return body;
  const text = await readText(body.value, maxBytes, instead);
  if (!text.ok) return text.error.name === "empty-body" ? ok({}) : text;
  const problem = typeProblem(request, [JSON_TYPE]);
  if (problem !== null) return err(problem);
  const value = parseJson(text.value);
  return value.ok ? value : err({ name: "not-json", detail: `The body ${value.error}.` });
}
