import { NOT_JSON, NOT_UTF8, parseJson, refused, type Entry, type Line, type Location } from "./format.ts";

/** A JSON value in a file: a line, a list item, or a value that spans lines. Its text is not parsed yet. */
interface Value extends Location {
  readonly text: string;
  /** Why the value is refused regardless of its content; `null` if it can be read. */
  readonly flaw: string | null;
}

/** Maximum characters of a value that spans lines: more than any valid document has. */
const MAX_VALUE_CHARACTERS = 10_000_000;

const TOO_LONG = `the value is longer than ${MAX_VALUE_CHARACTERS} characters`;
const NOT_CLOSED = "a bracket of the value is not closed";
const LIST_NOT_CLOSED = "the list is not closed";
const LINE_BREAK = "a string in the value contains a line break; JSON needs \\n";
const EMPTY_LIST = "the list is empty";
const NOT_JSON_VALUE = "the value is not valid JSON";

/** The replacement character for invalid bytes in the lossy text of a line. */
const REPLACEMENT = "\u{fffd}";

/**
 * Splits the lines of a file into JSON values: one per line, or values that span lines if the first line contains only
 * opening brackets, or begins a list and ends with a comma. List items are separate values, numbered from 0.
 */
export async function* splitValues(lines: AsyncIterable<Line>): AsyncGenerator<Value> {
  let spanning: ValueSplitter | null = null;
  let begun = false;
  for await (const line of lines) {
    const text = textOf(line);
    if (isBlank(text)) continue;
    if (!begun && spansLines(text)) spanning = new ValueSplitter();
    begun = true;
    yield* spanning === null ? splitLine(line) : spanning.add(line);
  }
  if (spanning !== null) yield* spanning.end();
}

/** Returns the values of a file as entries. `convert` receives each parsed value. */
export async function* convertValues(
  lines: AsyncIterable<Line>,
  convert: (location: Location, value: unknown) => Entry,
): AsyncGenerator<Entry> {
  for await (const { text, flaw, ...location } of splitValues(lines)) {
    const value = flaw === null ? parseJson(text) : undefined;
    if (value !== undefined) yield convert(location, value);
    else yield refused(location, flaw ?? (isLine(location) ? NOT_JSON : NOT_JSON_VALUE));
  }
}

function isLine({ first, last, index }: Location): boolean {
  return first === last && index === undefined;
}

function textOf({ text, lossy }: Line): string {
  return text ?? lossy ?? REPLACEMENT;
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

function spansLines(text: string): boolean {
  return /^[[{ \t\r]+$/.test(text) || /^[ \t]*\[.*,[ \t\r]*$/.test(text);
}

function* splitLine(line: Line): Generator<Value> {
  const text = textOf(line);
  if (/^[ \t]*\[/.test(text)) {
    const splitter = new ValueSplitter();
    yield* splitter.add(line);
    yield* splitter.end();
    return;
  }
  const flaw = line.text === null ? (line.flaw ?? NOT_UTF8) : null;
  yield { first: line.number, last: line.number, text, flaw };
}

/** A value whose end has not been read. */
interface Open {
  readonly first: number;
  text: string;
  depth: number;
  /** The line of the most recent opening brace, or `null` if anything follows it. */
  braceLine: number | null;
  flaw: string | null;
}

/** Splits JSON into values by brackets, quotes and commas. It does not validate them. */
class ValueSplitter {
  /** Items of the open list so far; `null` outside a list. */
  #items: number | null = null;
  #open: Open | null = null;
  #line = 0;
  /** The last line that is not blank. */
  #before = 0;
  /** Where the latest value outside a list began, and how many began there before it. */
  #latest = { first: 0, count: 0 };

  *add(line: Line): Generator<Value> {
    const text = textOf(line);
    const flaw = line.text === null ? (line.flaw ?? NOT_UTF8) : null;
    this.#line = line.number;
    let start = 0;
    let inString = false;
    for (let at = 0; at < text.length; at += 1) {
      const character = text[at] ?? "";
      if (inString) {
        if (character === "\\") at += 1;
        else if (character === '"') inString = false;
        continue;
      }
      if (SPACE.has(character)) continue;
      if (this.#isBroken(character)) yield this.#close("", null, this.#before);
      if (this.#open === null || this.#open.depth === 0) {
        if (this.#isStructure(character)) {
          if (this.#open !== null) yield this.#close(text.slice(start, at), flaw);
          yield* this.#takeStructure(character);
          continue;
        }
        if (this.#open === null) {
          this.#open = { first: line.number, text: "", depth: 0, braceLine: null, flaw: null };
          start = at;
        }
      }
      const open: Open = this.#open;
      open.braceLine = character === "{" ? line.number : null;
      if (character === '"') inString = true;
      else if (character === "[" || character === "{") open.depth += 1;
      else if (character === "]" || character === "}") {
        open.depth -= 1;
        if (open.depth <= 0) yield this.#close(text.slice(start, at + 1), flaw);
      }
    }
    this.#before = line.number;
    if (this.#open === null) return;
    // Treat an unclosed string as closed at the line end, so that a stray quote does not swallow the file.
    if (inString) this.#open.flaw ??= LINE_BREAK;
    const whole = inString && this.#open.first === line.number && /[}\]],?[ \t\r]*$/.test(text);
    if (this.#open.depth === 0 || whole) yield this.#close(text.slice(start), flaw);
    else this.#append(this.#open, `${text.slice(start)} `, flaw);
  }

  *end(): Generator<Value> {
    if (this.#open !== null) {
      this.#open.flaw ??= NOT_CLOSED;
      yield this.#close("", null);
    } else if (this.#items !== null) {
      yield { ...this.#flawed(LIST_NOT_CLOSED), index: this.#items };
    }
  }

  /**
   * Whether the value is truncated on the previous line: `{` must be followed by a name. If so, the next line begins a
   * new value.
   */
  #isBroken(character: string): boolean {
    const line = this.#open?.braceLine ?? null;
    return line !== null && line < this.#line && character !== '"' && character !== "}";
  }

  #isStructure(character: string): boolean {
    if (this.#items !== null) return character === "," || character === "]";
    return this.#open === null && character === "[";
  }

  *#takeStructure(character: string): Generator<Value> {
    if (character === "[") {
      this.#items = 0;
    } else if (character === "]") {
      if (this.#items === 0) yield this.#flawed(EMPTY_LIST);
      this.#items = null;
    }
  }

  #flawed(flaw: string): Value {
    return { first: this.#line, last: this.#line, text: "", flaw };
  }

  #append(open: Open, piece: string, flaw: string | null): void {
    if (flaw !== null && piece.includes(REPLACEMENT)) open.flaw ??= flaw;
    if (open.text.length + piece.length > MAX_VALUE_CHARACTERS) open.flaw ??= TOO_LONG;
    open.text = open.flaw === TOO_LONG ? "" : open.text + piece;
  }

  #close(piece: string, flaw: string | null, last = this.#line): Value {
    const open = this.#open ?? { first: this.#line, text: "", depth: 0, braceLine: null, flaw: null };
    this.#append(open, piece, flaw);
    this.#open = null;
    const location = { first: open.first, last };
    const index = this.#nextIndex(open.first);
    return { ...location, ...(index !== undefined && { index }), text: open.text, flaw: open.flaw };
  }

  /** Numbers list items, and values outside lists when several begin on one line. */
  #nextIndex(first: number): number | undefined {
    if (this.#items !== null) return this.#items++;
    this.#latest = { first, count: this.#latest.first === first ? this.#latest.count + 1 : 0 };
    return this.#latest.count === 0 ? undefined : this.#latest.count;
  }
}

const SPACE = new Set([" ", "\t", "\r", "\n"]);
