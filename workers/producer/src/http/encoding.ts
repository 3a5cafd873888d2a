import type { FieldProblem } from "@sluice/core";

export const NOT_ENCODED = "is not percent-encoded UTF-8: encode the bytes of the text, and a % itself as %25";

/** Percent-decoded text; `null`: the encoding is broken, or its bytes are not UTF-8. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * The query parameters whose encoding is broken. `URLSearchParams` does not report them: it replaces bytes that are not
 * UTF-8 by U+FFFD, and Sluice would store, or filter by, another text than the caller meant.
 */
export function encodingProblems(search: string): FieldProblem[] {
  return search
    .replace(/^\?/, "")
    .split("&")
    .filter((pair) => decoded(pair) === null)
    .map((pair) => pair.split("=", 1)[0] ?? "")
    .map((name) => ({ pointer: queryPointer(decoded(name) ?? name), detail: NOT_ENCODED }));
}

const MAX_NAME_LENGTH = 64;

/** The pointer to a query parameter. */
export function queryPointer(name: string): string {
  return `?${name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name}`;
}
