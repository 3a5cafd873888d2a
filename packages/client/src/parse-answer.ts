import { memberText, memberTexts } from "@sluice/core";

/** The API writes JSON without white space, so an answer without this text has no metadata. */
const METADATA = '"metadata":{';

/**
 * Parses an answer of the API. If JavaScript cannot represent a document's metadata, because a number has more digits
 * than a double keeps or a name is repeated, the document gets `metadata_json` beside `metadata`: the text as it was
 * pushed. Throws a `SyntaxError` if the answer is not JSON.
 */
export function parseAnswer(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!text.includes(METADATA) || !isObject(value)) return value;
  const { data } = value;
  if (Array.isArray(data)) {
    for (const [index, metadata] of memberTexts(text, "data", "metadata").entries()) addText(data[index], metadata);
  } else {
    addText(value, memberText(text, "metadata"));
  }
  return value;
}

function addText(document: unknown, metadata: string | null): void {
  if (metadata === null || !isObject(document) || isHeld(metadata, document["metadata"])) return;
  document["metadata_json"] = metadata;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** A string, a number, or the colon of a member. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|:/g;

/** Whether `value`, parsed from `json`, preserves everything in the text. */
function isHeld(json: string, value: unknown): boolean {
  let members = 0;
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === ":") members += 1;
    else if (!token.startsWith('"') && !isExact(token)) return false;
  }
  return members === membersOf(value);
}

/** Counts the names in a value and in all nested values. */
function membersOf(value: unknown): number {
  if (!isObject(value)) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, one) => sum + membersOf(one), own);
}

/** Whether JavaScript writes a JSON number as the same decimal number, in any notation. */
function isExact(number: string): boolean {
  const decimal = decimalOf(number);
  return decimal !== null && decimal === decimalOf(String(Number(number)));
}

/** The unique shortest form of a decimal number; `null` if it is infinite. */
function decimalOf(number: string): string | null {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (whole === "") return null;
  if (digits === "") return "0";
  const significant = digits.replace(/0+$/, "");
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${power}`;
}

/** Serializes a document with its metadata exactly as it was pushed. */
export function documentText(document: {
  readonly metadata?: unknown;
  readonly metadata_json?: string | undefined;
}): string {
  const { metadata_json: text, ...rest } = document;
  if (text === undefined) return JSON.stringify(document);
  return `${JSON.stringify({ ...rest, metadata: undefined }).slice(0, -1)},"metadata":${text}}`;
}
