import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import { NOT_ENCODED, decoded } from "./encoding.ts";

/**
 * The parameters of a path by its pattern (`/v1/things/:id`). Each is decoded exactly once, so that an id may have any
 * character, including a slash written as `%2F`. The pointer to a parameter is `{name}`.
 */
export function pathParameters(pattern: string, pathname: string): Result<Record<string, string>, FieldProblem[]> {
  const segments = pathname.split("/");
  const parameters: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  for (const [index, step] of pattern.split("/").entries()) {
    if (!step.startsWith(":")) continue;
    const name = step.slice(1);
    const value = decoded(segments[index] ?? "");
    if (value === null) problems.push({ pointer: `{${name}}`, detail: NOT_ENCODED });
    else parameters[name] = value;
  }
  return problems.length > 0 ? err(problems) : ok(parameters);
}
