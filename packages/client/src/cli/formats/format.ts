import type { DocumentIn } from "../../types.ts";

/** A line of a file, without its end. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** `null`: it is not UTF-8. */
  readonly text: string | null;
}

/** What a line, or some, became: a document (or its JSON as it stands) to push, or a refusal. */
export type Entry =
  | { readonly kind: "document"; readonly first: number; readonly last: number; readonly document: DocumentIn | string }
  | { readonly kind: "refused"; readonly first: number; readonly last: number; readonly detail: string };

/** Turns the lines of a file into what is pushed. */
export type Format = (lines: AsyncIterable<Line>) => AsyncGenerator<Entry>;

export function refused(line: number, detail: string): Entry {
  return { kind: "refused", first: line, last: line, detail };
}

export const NOT_UTF8 = "the line holds bytes that are not UTF-8";
export const NOT_JSON = "the line is not valid JSON";

type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON; `undefined` where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A document, or why there is none. */
export type Converted = { readonly document: DocumentIn } | { readonly detail: string };

export function toEntry(line: number, converted: Converted): Entry {
  if ("detail" in converted) return refused(line, converted.detail);
  return { kind: "document", first: line, last: line, document: converted.document };
}

/**
 * A rerank request in the shape that Cohere, Voyage, Jina and others share: `query` and `documents`,
 * each a string or `{ text }`. What only shapes their answer (`top_n`, `model`, …) is left out.
 */
export function convertRerank(value: unknown, id: string | undefined): Converted {
  if (!isObject(value)) return { detail: "not an object with query and documents" };
  const { query, documents } = value;
  if (typeof query !== "string") return { detail: "query must be a string" };
  if (!Array.isArray(documents)) return { detail: "documents must be a list of strings or of { text }" };
  const contexts: (string | { id?: string; text: string })[] = [];
  for (const [index, document] of documents.entries()) {
    const context = toContext(document);
    if (context === null) return { detail: `documents[${index}] must be a string or { text }` };
    contexts.push(context);
  }
  return { document: { ...(id !== undefined && { id }), query, contexts } };
}

function toContext(value: unknown): string | { id?: string; text: string } | null {
  if (typeof value === "string") return value;
  if (!isObject(value) || typeof value["text"] !== "string") return null;
  const { id, text } = value;
  return typeof id === "string" ? { id, text } : text;
}
