import type * as z from "zod";
import { jsonPointer, told } from "./text.ts";

/** One thing wrong with what a user sent: where (a JSON Pointer, `""` for the whole), and what to do. */
export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** More would not help the reader. */
const MAX_PROBLEMS = 20;

/** What other rerank APIs call things, and the word here. */
const RENAMES: Readonly<Record<string, string>> = {
  documents: "contexts",
  passages: "contexts",
  texts: "contexts",
  candidates: "contexts",
  context: "contexts",
  inputs: "contexts",
  q: "query",
  question: "query",
  source_sentence: "query",
  custom_id: "id",
  _id: "id",
  document_id: "id",
  doc_id: "id",
  meta: "metadata",
};
const NOT_HERE: Readonly<Record<string, string>> = {
  top_n: "every context is scored; read the best with ?top_k=",
  top_k: "every context is scored; read the best with ?top_k=",
  return_documents: "texts come back with ?include=text",
  model: "the model is an option of the push, beside documents or in the query string",
  collection: "the collection is an option of the push, beside documents or in the query string",
};

/** The names of the fields that the object at a path may have. */
export type AllowedFields = (path: readonly PropertyKey[]) => readonly string[];

/** The problems in a failed parse, in words of our own: zod's may differ from one version to the next. */
export function problemsOf(error: z.ZodError, value: unknown, allowed: AllowedFields): FieldProblem[] {
  // Unknown fields first: a name to change often explains the field that is missing.
  const issues = error.issues.toSorted((a, b) => Number(isUnknownField(b)) - Number(isUnknownField(a)));
  const parsed = { value, allowed };
  return issues.flatMap((issue) => fromIssue(issue, parsed, [])).slice(0, MAX_PROBLEMS);
}

type Issue = z.core.$ZodIssue;

interface Parsed {
  readonly value: unknown;
  readonly allowed: AllowedFields;
}

function isUnknownField(issue: Issue): boolean {
  return issue.code === "unrecognized_keys";
}

function fromIssue(issue: Issue, root: Parsed, prefix: readonly PropertyKey[]): FieldProblem[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, MAX_PROBLEMS).map((key) => ({
      pointer: jsonPointer([...path, key]),
      detail: unknownField(key, valueAt(root.value, path), root.allowed(path)),
    }));
  }
  if (issue.code === "invalid_union") {
    // A string fails as a string, an object as an object: the other branch has nothing to tell.
    const value = valueAt(root.value, path);
    const branch = issue.errors.find((issues) =>
      issues.every((one) => one.path.length > 0 || !isWrongType(one, value)),
    );
    if (branch !== undefined) return branch.flatMap((one) => fromIssue(one, root, path));
  }
  return [{ pointer: jsonPointer(path), detail: issue.message }];
}

function isWrongType(issue: Issue, value: unknown): boolean {
  return issue.code === "invalid_type" && typeof value !== issue.expected;
}

function unknownField(key: string, parent: unknown, allowed: readonly string[]): string {
  const name = JSON.stringify(told(key));
  const rename = Object.hasOwn(RENAMES, key) ? RENAMES[key] : undefined;
  if (rename !== undefined && typeof parent === "object" && parent !== null && !Object.hasOwn(parent, rename)) {
    return `unknown field ${name}: rename it to "${rename}"`;
  }
  const hint = Object.hasOwn(NOT_HERE, key) ? NOT_HERE[key] : undefined;
  return hint === undefined
    ? `unknown field ${name}; allowed here: ${allowed.join(", ")}`
    : `unknown field ${name}: ${hint}`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}
