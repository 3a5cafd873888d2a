import { skipScalar, skipSpace, skipString, stringAt } from "./json-text.ts";
import { MAX_METADATA_BYTES, MAX_METADATA_DEPTH } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";
import { textFlaw, utf8Length } from "./text.ts";

interface Flaw {
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

const TOO_LARGE: Flaw = { path: [], detail: `must be at most ${MAX_METADATA_BYTES} bytes as JSON` };

/**
 * Reads the JSON text of an object as metadata: every number, string and name exactly as written, including repeated
 * names, without the white space between tokens. Refuses what cannot be stored: strings that are not well-formed or
 * contain NUL, more than 32 levels, and more than 4,096 bytes. `json` must be valid for `JSON.parse`. Reads no further
 * than the size limit of metadata.
 */
export function readMetadata(json: string): Result<string, Flaw> {
  const reader = new MetadataReader(json);
  const flaw = reader.readValue([]);
  if (flaw !== null) return err(flaw);
  const text = reader.text();
  return utf8Length(text) > MAX_METADATA_BYTES ? err(TOO_LARGE) : ok(text);
}

class MetadataReader {
  readonly #json: string;
  #at: number;
  readonly #pieces: string[] = [];
  /** Characters in `#pieces`: never more than bytes. */
  #length = 0;

  constructor(json: string) {
    this.#json = json;
    this.#at = skipSpace(json, 0);
  }

  text(): string {
    return this.#pieces.join("");
  }

  /** Reads the current value. The recursion is limited by the depth limit of metadata. */
  readValue(path: readonly PropertyKey[]): Flaw | null {
    const first = this.#json[this.#at];
    if (first === '"') return this.#readString(path, "");
    if (first === "{") return this.#readList(path, "}", () => this.#readMember(path));
    if (first === "[") return this.#readList(path, "]", (index) => this.readValue([...path, index]));
    return this.#take(skipScalar(this.#json, this.#at));
  }

  #readList(path: readonly PropertyKey[], close: string, readEntry: (index: number) => Flaw | null): Flaw | null {
    if (path.length >= MAX_METADATA_DEPTH) return { path, detail: `must be at most ${MAX_METADATA_DEPTH} levels deep` };
    let flaw = this.#take(this.#at + 1);
    for (let index = 0; flaw === null && this.#json[this.#at] !== close; index += 1) {
      flaw = readEntry(index);
      if (flaw === null && this.#json[this.#at] === ",") flaw = this.#take(this.#at + 1);
    }
    return flaw ?? this.#take(this.#at + 1);
  }

  #readMember(path: readonly PropertyKey[]): Flaw | null {
    const start = this.#at;
    const flaw = this.#readString(path, "has a name that ");
    if (flaw !== null) return flaw;
    const name = stringAt(this.#json, start, skipString(this.#json, start));
    return this.#take(this.#at + 1) ?? this.readValue([...path, name]);
  }

  #readString(path: readonly PropertyKey[], which: string): Flaw | null {
    const end = skipString(this.#json, this.#at);
    if (end - this.#at > MAX_METADATA_BYTES) return TOO_LARGE;
    const flaw = textFlaw(stringAt(this.#json, this.#at, end));
    return flaw === null ? this.#take(end) : { path, detail: which + flaw };
  }

  /** Appends the text up to `end`, and skips the white space after it. */
  #take(end: number): Flaw | null {
    this.#length += end - this.#at;
    if (this.#length > MAX_METADATA_BYTES) return TOO_LARGE;
    this.#pieces.push(this.#json.slice(this.#at, end));
    this.#at = skipSpace(this.#json, end);
    return null;
  }
}
