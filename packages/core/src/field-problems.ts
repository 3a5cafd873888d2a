import type * as z from "zod";
import { jsonPointer, shorten } from "./text.ts";

/** One error in a user's input: the location (a JSON Pointer, `""` for the whole), and what to do. */
export interface FieldProblem {
  readonly pointer: string;
  readonly detail: string;
}

/** Maximum problems reported: more would not help the reader. */
const MAX_PROBLEMS = 20;

/** Field names of other rerank APIs, with the names used here. */
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
  return_documents: "read the texts with ?include=text",
  model: "the model is an option of the push: set it beside documents or in the query string",
  collection: "the collection is an option of the push: set it beside documents or in the query string",
};

/** The allowed field names of the object at a path. */
export type AllowedFields = (path: readonly PropertyKey[]) => readonly string[];

/** Converts a failed parse to problems with our own messages, because zod's may change between versions. */
export function problemsOf(error: z.ZodError, value: unknown, allowed: AllowedFields): FieldProblem[] {
  // Unknown fields first: a renamed field often explains a missing one.
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
    // A string matches the string branch, and an object the object branch. The other branch's errors are irrelevant.
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
  const name = JSON.stringify(shorten(key));
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
