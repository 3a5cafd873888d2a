import { convertRerank, isObject, toEntry, unknownField, type Converted, type Format } from "./format.ts";
import { convertValues } from "./values.ts";

/** Lines of a batch file, `{ custom_id, body: { query, documents, … } }`. `custom_id` becomes the document id. */
export const voyage: Format = (lines) => convertValues(lines, (location, value) => toEntry(location, convert(value)));

function convert(value: unknown): Converted {
  if (!isObject(value)) return { detail: "not an object with custom_id and body" };
  const { custom_id: id, body } = value;
  if (typeof id !== "string") return { detail: "custom_id must be a string" };
  const unknown = unknownField(value, ["custom_id", "body"], ["method", "url"]);
  if (unknown !== null) return { detail: unknown };
  if (!isObject(body)) return { detail: "body must be an object with query and documents" };
  const converted = convertRerank(body, id);
  return "detail" in converted ? { detail: `body: ${converted.detail}` } : converted;
}
