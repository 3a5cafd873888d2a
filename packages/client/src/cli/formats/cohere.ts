import {
  convertRerank,
  isObject,
  NOT_JSON,
  NOT_UTF8,
  parseJson,
  refused,
  toEntry,
  type Converted,
  type Entry,
  type Format,
  type Line,
} from "./format.ts";

/** JSON over several lines is held whole: as much as the API takes of one. */
const MOST_CHARACTERS = 10_000_000;

/**
 * Rerank requests, `{ query, documents: [string | { text }], … }`: one a line, or JSON over several
 * lines that is one of them or a list. An `id` is kept.
 */
export const cohere: Format = async function* (lines) {
  const iterator = lines[Symbol.asyncIterator]();
  const held: Line[] = [];
  for (let read = await iterator.next(); read.done !== true; read = await iterator.next()) {
    held.push(read.value);
    if ((read.value.text ?? "").trim() !== "") break;
  }
  const first = held.at(-1);
  if (first === undefined) return;
  const rest = { [Symbol.asyncIterator]: () => iterator };
  // A whole value on the first line: the others have theirs. A list of many is a line of many.
  if (first.text === null || parseJson(first.text) !== undefined || !/^\s*[[{]+\s*$/.test(first.text.slice(0, 200))) {
    yield* convertLine(first);
    for await (const line of rest) yield* convertLine(line);
    return;
  }
  let text = "";
  let last = first.number;
  for (const line of held) text += `${line.text ?? "\u{fffd}"}\n`;
  for await (const line of rest) {
    last = line.number;
    text += `${line.text ?? "\u{fffd}"}\n`;
    if (text.length > MOST_CHARACTERS) {
      yield {
        kind: "refused",
        first: first.number,
        last,
        detail: "JSON over several lines is too long: put one request on each line",
      };
      return;
    }
  }
  const value = parseJson(text);
  if (value === undefined) yield { kind: "refused", first: first.number, last, detail: "the file is not valid JSON" };
  else for (const entry of convertValue(first.number, value)) yield { ...entry, last };
};

function convertLine({ number, text }: Line): Entry[] {
  if (text === null) return [refused(number, NOT_UTF8)];
  if (text.trim() === "") return [];
  const value = parseJson(text);
  return value === undefined ? [refused(number, NOT_JSON)] : convertValue(number, value);
}

function convertValue(line: number, value: unknown): Entry[] {
  const requests: unknown[] = Array.isArray(value) ? value : [value];
  return requests.map((request) => toEntry(line, convert(request)));
}

function convert(request: unknown): Converted {
  const id = isObject(request) ? request["id"] : undefined;
  if (id !== undefined && typeof id !== "string") return { detail: "id must be a string" };
  return convertRerank(request, id, ["id"]);
}
