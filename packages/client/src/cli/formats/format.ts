import type { DocumentIn } from "../../types.ts";
import { count } from "../text.ts";

/** A line of a file, without its line ending. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** `null` if the line cannot be decoded as text. */
  readonly text: string | null;
  /** The text of a line that is not UTF-8, with U+FFFD for invalid bytes. */
  readonly lossy?: string | undefined;
  /** Why `text` is null, if the reason is not invalid UTF-8. */
  readonly flaw?: string | undefined;
}

/** The lines of a file that form one document. */
export interface Location {
  readonly first: number;
  readonly last: number;
  /** The index in a list, from 0, or among several documents that begin on one line. */
  readonly index?: number | undefined;
  /** The line of each context, unless they follow `first` one by one. */
  readonly rows?: readonly number[] | undefined;
}

/** Why lines are refused; `at` is the line at fault if it is not the first. */
export interface Refusal {
  readonly detail: string;
  readonly at?: number | undefined;
}

/** The result of reading one or more lines: a document (or its JSON text) to push, or a refusal. */
export type Entry =
  | (Location & { readonly kind: "document"; readonly document: DocumentIn | string })
  | (Location & Refusal & { readonly kind: "refused" });

/** Options and callbacks of a format. */
export interface FormatOptions {
  /** Whether the first row of `tsv` is a header. Detected from its content if absent. */
  readonly header?: "yes" | "no" | undefined;
  /** Receives the header row. */
  readonly onHeader?: ((header: Header) => void) | undefined;
}

export interface Header {
  readonly line: number;
  readonly names: readonly string[];
}

/** Converts the lines of a file to documents to push. */
export type Format = (lines: AsyncIterable<Line>, options?: FormatOptions) => AsyncGenerator<Entry>;

export function refused(location: Location, detail: string): Entry {
  return { kind: "refused", ...location, detail };
}

/** The location in words for a person. */
export function describeLocation({
  first,
  at = first,
  index,
}: Location & { readonly at?: number | undefined }): string {
  return `line ${count(at)}${index === undefined ? "" : `, item ${count(index + 1)}`}`;
}

/** A key that is unique per location: several documents may begin on one line. */
export function locationKey({ first, index }: Location): string {
  return `${first}:${index ?? ""}`;
}

export const NOT_UTF8 = "the line is not valid UTF-8";
export const NOT_JSON = "the line is not valid JSON";

type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON. Returns `undefined` for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A document, or the reason there is none. */
export type Converted = { readonly document: DocumentIn } | { readonly detail: string };

export function toEntry(location: Location, converted: Converted): Entry {
  if ("detail" in converted) return refused(location, converted.detail);
  return { kind: "document", ...location, document: converted.document };
}

/** Fields of rerank requests that only shape the answer or name another provider's model. They are ignored. */
export const LEFT_OUT = ["model", "top_n", "top_k", "return_documents", "priority"] as const;

/** Describes a field that would be lost, and would change the meaning of the request; `null` if there is none. */
export function unknownField(value: Fields, known: readonly string[], leftOut: readonly string[] = []): string | null {
  const name = Object.keys(value).find((one) => !known.includes(one) && !leftOut.includes(one));
  if (name === undefined) return null;
  const besides = leftOut.length === 0 ? "" : `; ${leftOut.join(", ")} are ignored`;
  return `the field ${JSON.stringify(name)} is not supported; supported: ${known.join(", ")}${besides}`;
}

/**
 * Converts a rerank request in the shape shared by Cohere, Voyage, Jina and others: `query` and `documents`, each a
 * string or `{ text }`. Refuses options that change scores there but cannot be applied here.
 */
export function convertRerank(value: unknown, id: string | undefined, more: readonly string[] = []): Converted {
  if (!isObject(value)) return { detail: "not an object with query and documents" };
  // The default of these APIs is to truncate, too.
  const leftOut = value["truncation"] === true ? [...LEFT_OUT, "truncation"] : LEFT_OUT;
  if (value["truncation"] === false)
    return { detail: "truncation must be true: to refuse long texts, use --no-truncate" };
  const unknown = unknownField(value, [...more, "query", "documents"], leftOut);
  if (unknown !== null) return { detail: unknown };
  const { query, documents } = value;
  if (typeof query !== "string") return { detail: "query must be a string" };
  if (!Array.isArray(documents)) return { detail: "documents must be a list of strings or of { text }" };
  const contexts: (string | { id?: string; text: string })[] = [];
  for (const [index, document] of documents.entries()) {
    const context = toContext(document);
    if ("flaw" in context) return { detail: `documents[${index}]${context.flaw}` };
    contexts.push(context.context);
  }
  return { document: { ...(id !== undefined && { id }), query, contexts } };
}

type Context = { readonly context: string | { id: string; text: string } } | { readonly flaw: string };

function toContext(value: unknown): Context {
  if (typeof value === "string") return { context: value };
  if (!isObject(value) || typeof value["text"] !== "string") return { flaw: " must be a string or { text }" };
  const unknown = unknownField(value, ["id", "text"]);
  if (unknown !== null) return { flaw: `: ${unknown}` };
  const { id, text } = value;
  if (id === undefined) return { context: text };
  return typeof id === "string" ? { context: { id, text } } : { flaw: ".id must be a string" };
}
