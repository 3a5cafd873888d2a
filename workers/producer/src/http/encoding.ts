import type { FieldProblem } from "@sluice/core";

export const NOT_ENCODED = "is not percent-encoded UTF-8: encode the bytes of the text, and a % itself as %25";

/** What percent-encoding stands for; `null`: it is broken, or its bytes are not UTF-8. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * The query parameters whose encoding is broken. `URLSearchParams` says nothing of it: it puts U+FFFD
 * for what is not UTF-8, and another text would be filtered by, or stored, than was meant.
 */
export function encodingProblems(search: string): FieldProblem[] {
  return search
    .replace(/^\?/, "")
    .split("&")
    .filter((pair) => decoded(pair) === null)
    .map((pair) => pair.split("=", 1)[0] ?? "")
    .map((name) => ({ pointer: queryPlace(decoded(name) ?? name), detail: NOT_ENCODED }));
}

const MAX_NAME_LENGTH = 64;

/** How a query parameter's place is written. */
export function queryPlace(name: string): string {
  return `?${name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name}`;
}
