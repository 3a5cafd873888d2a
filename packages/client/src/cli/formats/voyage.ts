import {
  convertRerank,
  isObject,
  NOT_JSON,
  NOT_UTF8,
  parseJson,
  refused,
  toEntry,
  unknownField,
  type Converted,
  type Format,
} from "./format.ts";

/** Lines of a batch file, `{ custom_id, body: { query, documents, … } }`: `custom_id` becomes the document's id. */
export const voyage: Format = async function* (lines) {
  for await (const { number, text } of lines) {
    if (text === null) {
      yield refused(number, NOT_UTF8);
    } else if (text.trim() !== "") {
      const value = parseJson(text);
      yield value === undefined ? refused(number, NOT_JSON) : toEntry(number, convert(value));
    }
  }
};

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
