import type { DocumentIn } from "../../types.ts";
import { count } from "../text.ts";

/** A line of a file, without its end. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** `null`: it cannot be read as text. */
  readonly text: string | null;
  /** Of a line that is not UTF-8: its text, with U+FFFD for the bytes at fault. */
  readonly lossy?: string | undefined;
  /** Why `text` is null, where that is not for bytes that are not UTF-8. */
  readonly flaw?: string | undefined;
}

/** The lines of a file that make one document, or would. */
export interface Place {
  readonly first: number;
  readonly last: number;
  /** Its number in a list, from 0, or among several that begin on one line. */
  readonly index?: number | undefined;
  /** The line of each context, where they are not `first` and those that follow. */
  readonly rows?: readonly number[] | undefined;
}

/** Why lines are refused; `at` is the one at fault, where that is not the first. */
export interface Refusal {
  readonly detail: string;
  readonly at?: number | undefined;
}

/** What a line, or some, became: a document (or its JSON as it stands) to push, or a refusal. */
export type Entry =
  | (Place & { readonly kind: "document"; readonly document: DocumentIn | string })
  | (Place & Refusal & { readonly kind: "refused" });

/** What of its reading a format can be told, and tells. */
export interface FormatOptions {
  /** Whether the first row of `tsv` names the columns; by what it holds where not given. */
  readonly header?: "yes" | "no" | undefined;
  /** Told of the row that is taken for a header. */
  readonly onHeader?: ((header: Header) => void) | undefined;
}

export interface Header {
  readonly line: number;
  readonly names: readonly string[];
}

/** Turns the lines of a file into what is pushed. */
export type Format = (lines: AsyncIterable<Line>, options?: FormatOptions) => AsyncGenerator<Entry>;

export function refused(place: Place, detail: string): Entry {
  return { kind: "refused", ...place, detail };
}

/** A place as a person finds it. */
export function describePlace({ first, at = first, index }: Place & { readonly at?: number | undefined }): string {
  return `line ${count(at)}${index === undefined ? "" : `, item ${count(index + 1)}`}`;
}

/** Tells places apart: several documents may begin on one line. */
export function placeKey({ first, index }: Place): string {
  return `${first}:${index ?? ""}`;
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

export function toEntry(place: Place, converted: Converted): Entry {
  if ("detail" in converted) return refused(place, converted.detail);
  return { kind: "document", ...place, document: converted.document };
}

/** Fields of rerank requests that shape their answer, or name a model of theirs: they are left out. */
export const LEFT_OUT = ["model", "top_n", "top_k", "return_documents", "priority"] as const;

/** Says of a field that would be lost, and with it what its writer meant, that it is not taken; `null`: there is none. */
export function unknownField(value: Fields, known: readonly string[], leftOut: readonly string[] = []): string | null {
  const name = Object.keys(value).find((one) => !known.includes(one) && !leftOut.includes(one));
  if (name === undefined) return null;
  const besides = leftOut.length === 0 ? "" : `; ${leftOut.join(", ")} are left out`;
  return `the field ${JSON.stringify(name)} is not taken: there are ${known.join(", ")}${besides}`;
}

/**
 * A rerank request in the shape that Cohere, Voyage, Jina and others share: `query` and `documents`,
 * each a string or `{ text }`. What would change the scores there, and cannot here, is refused.
 */
export function convertRerank(value: unknown, id: string | undefined, more: readonly string[] = []): Converted {
  if (!isObject(value)) return { detail: "not an object with query and documents" };
  // Theirs cut by default too.
  const leftOut = value["truncation"] === true ? [...LEFT_OUT, "truncation"] : LEFT_OUT;
  if (value["truncation"] === false)
    return { detail: "truncation must be true: --no-truncate refuses what is too long" };
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
