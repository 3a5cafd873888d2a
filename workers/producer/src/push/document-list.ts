const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** White space of JSON is this byte and some below; no other byte below is valid outside a string. */
const SPACE = 0x20;

/** The list `documents` of a JSON body, found without parsing it. */
export interface DocumentList {
  /** The body with `[null]` instead of the list. */
  readonly envelope: string;
  /** Entries in the list: at least one. */
  readonly count: number;
  /** The text of each entry in order; `null` for one that is not UTF-8. */
  readonly texts: () => Generator<string | null>;
}

/**
 * Finds the member `documents` of the JSON object in `json`, which is UTF-8. `null`: it has no such list, or several.
 * Nothing else is validated: `json` is valid if `envelope` and all `texts` are valid JSON.
 */
export function findDocumentList(json: Uint8Array): DocumentList | null {
  let found: { readonly start: number; readonly end: number } | null = null;
  // A byte order mark before the object is allowed, as in `TextDecoder`.
  let at = skipSpace(json, isByteOrderMark(json) ? 3 : 0);
  if (json[at] !== 0x7b) return null;
  at = skipSpace(json, at + 1);
  while (json[at] === QUOTE) {
    const name = json.subarray(at + 1, skipString(json, at) - 1);
    at = skipSpace(json, at + name.length + 2);
    if (json[at] !== COLON) return null;
    const start = skipSpace(json, at + 1);
    at = skipValue(json, start);
    // With escapes, the name may still be "documents".
    if (name.includes(BACKSLASH)) return null;
    if (isDocuments(name)) {
      // No text that is parsed later includes the brackets of the list.
      if (found !== null || json[start] !== 0x5b || json[at - 1] !== 0x5d) return null;
      found = { start, end: at };
    }
    at = skipSpace(json, at);
    if (json[at] === COMMA) at = skipSpace(json, at + 1);
  }
  if (found === null) return null;
  const { start, end } = found;
  const head = decode(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }), json.subarray(0, start));
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const tail = decode(decoder, json.subarray(end));
  if (head === null || tail === null) return null;
  const entries = () => cut(json, start + 1, end - 1);
  let count = 0;
  for (const _ of entries()) count += 1;
  if (count === 0) return null;
  return {
    envelope: `${head}[null]${tail}`,
    count,
    *texts() {
      for (const entry of entries()) yield decode(decoder, entry);
    },
  };
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** The values between `start` and `end` that commas separate, with the white space around them. */
function* cut(json: Uint8Array, start: number, end: number): Generator<Uint8Array> {
  let from = start;
  for (let at = start; at < end;) {
    at = skipSpace(json, skipValue(json, skipSpace(json, at)));
    if (at < end && json[at] !== COMMA) continue;
    yield json.subarray(from, Math.min(at, end));
    at += 1;
    from = at;
    // After a trailing comma there is an empty entry, which is not valid.
    if (at === end) yield json.subarray(end, end);
  }
}

function isByteOrderMark(json: Uint8Array): boolean {
  return json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf;
}

const DOCUMENTS = new TextEncoder().encode("documents");

function isDocuments(name: Uint8Array): boolean {
  return name.length === DOCUMENTS.length && DOCUMENTS.every((byte, index) => byte === name[index]);
}

function skipSpace(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && (json[at] as number) <= SPACE) at += 1;
  return at;
}

/** The offset after the string at `start`. */
function skipString(json: Uint8Array, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (json[before] === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
  return json.length;
}

/** The offset after the value at `start`. It advances by at least one byte, even if there is no value. */
function skipValue(json: Uint8Array, start: number): number {
  let at = start;
  let depth = 0;
  do {
    const byte = json[at];
    if (byte === QUOTE) at = skipString(json, at);
    else {
      at += 1;
      if (byte === 0x5b || byte === 0x7b) depth += 1;
      else if (byte === 0x5d || byte === 0x7d) depth -= 1;
    }
  } while (at < json.length && (depth > 0 || (depth === 0 && isInScalar(json[at - 1], json[at]))));
  return at;
}

/** Whether a number, `true`, `false` or `null` continues from one byte to the next. */
function isInScalar(byte: number | undefined, next: number | undefined): boolean {
  return isScalar(byte) && isScalar(next);
}

function isScalar(byte: number | undefined): boolean {
  return byte !== undefined && byte > SPACE && ![QUOTE, COMMA, COLON, 0x5b, 0x5d, 0x7b, 0x7d].includes(byte);
}
