import { convertRerank, isObject, toEntry, type Converted, type Format } from "./format.ts";
import { convertValues } from "./values.ts";

/**
 * Rerank requests, `{ query, documents: [string | { text }], … }`: one per line, a list, or JSON over several lines. An
 * `id` is kept.
 */
export const cohere: Format = (lines) => convertValues(lines, (location, value) => toEntry(location, convert(value)));

function convert(request: unknown): Converted {
  const id = isObject(request) ? request["id"] : undefined;
  if (id !== undefined && typeof id !== "string") return { detail: "id must be a string" };
  return convertRerank(request, id, ["id"]);
}
