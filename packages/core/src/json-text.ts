/*
 * Extracts parts of a JSON text exactly as they were written. Parsing keeps only values: it rounds numbers, reorders
 * integer names, and drops repeated names. Every text here must be valid for `JSON.parse`. This file imports nothing,
 * so that the client can bundle it alone.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];
/**
 * The code of the space: lower codes are white space too, because other control characters are invalid outside strings.
 */
const SPACE = 0x20;

/** The position of a value in a text, from `start` to `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the text of a member of the object `json`; `null` if there is none. If a name is repeated, the last one
 * counts.
 */
export function memberText(json: string, name: string): string | null {
  return textAt(json, memberOf(json, skipSpace(json, 0), name));
}

/**
 * Returns the text of the member `name` of each entry of the list `list` of the object `json`, in order; `null` for an
 * entry that is not an object or has no such member.
 */
export function memberTexts(json: string, list: string, name: string): (string | null)[] {
  const texts: (string | null)[] = [];
  const found = memberOf(json, skipSpace(json, 0), list);
  if (found === null || json[found.start] !== "[") return texts;
  for (let at = skipSpace(json, found.start + 1); at < found.end - 1;) {
    texts.push(textAt(json, memberOf(json, at, name)));
    at = skipSpace(json, skipValue(json, at));
    if (json.charCodeAt(at) === COMMA) at = skipSpace(json, at + 1);
  }
  return texts;
}

function textAt(json: string, span: Span | null): string | null {
  return span === null ? null : json.slice(span.start, span.end);
}

/**
 * Returns the last member with this name of the object at `start`; `null` if there is none, or the value is not an
 * object.
 */
function memberOf(json: string, start: number, name: string): Span | null {
  if (json[start] !== "{") return null;
  let found: Span | null = null;
  for (let at = skipSpace(json, start + 1); json.charCodeAt(at) === QUOTE;) {
    const nameEnd = skipString(json, at);
    const isNamed = stringAt(json, at, nameEnd) === name;
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const valueEnd = skipValue(json, valueStart);
    if (isNamed) found = { start: valueStart, end: valueEnd };
    at = skipSpace(json, valueEnd);
    if (json.charCodeAt(at) === COMMA) at = skipSpace(json, at + 1);
  }
  return found;
}

/** Returns the first position from `at` that is not white space. */
export function skipSpace(json: string, at: number): number {
  let next = at;
  while (json.charCodeAt(next) <= SPACE) next += 1;
  return next;
}

/** Returns the string at `start` that ends before `end`. Most have no escapes and need no parsing. */
export function stringAt(json: string, start: number, end: number): string {
  const inner = json.slice(start + 1, end - 1);
  return inner.includes("\\") ? (JSON.parse(json.slice(start, end)) as string) : inner;
}

/** Returns the position after the string at `at`. */
export function skipString(json: string, at: number): number {
  for (let quote = json.indexOf('"', at + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (json.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
  return json.length;
}

/** Returns the position after the number, `true`, `false` or `null` at `at`. */
export function skipScalar(json: string, at: number): number {
  let next = at;
  for (;;) {
    const code = json.charCodeAt(next);
    // NaN, past the last character, compares false.
    if (!(code > SPACE) || code === COMMA || CLOSING.includes(code)) return next;
    next += 1;
  }
}

/** Returns the position after the value at `at`. Not recursive: a list may be nested a hundred thousand levels deep. */
function skipValue(json: string, at: number): number {
  let next = at;
  for (let depth = 0; next < json.length;) {
    const code = json.charCodeAt(next);
    if (code === QUOTE) next = skipString(json, next);
    else if (OPENING.includes(code)) {
      depth += 1;
      next += 1;
      continue;
    } else if (CLOSING.includes(code)) {
      depth -= 1;
      next += 1;
    } else if (depth === 0) next = skipScalar(json, next);
    else {
      next += 1;
      continue;
    }
    if (depth === 0) return next;
  }
  return next;
}
