/** Bytes, whole or in chunks. */
export type BytesInput =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>;

/** Maximum bytes of a line that the API reads. */
export const MAX_LINE_BYTES = 3_000_000;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Reads NDJSON. Yields the JSON text of each document unchanged, for `push`.
 *
 * Lines end in LF or CRLF only, because U+2028, U+2029 and similar characters may be part of a string. Blank lines and
 * a byte order mark are skipped. A line that is not valid UTF-8, or longer than 3,000,000 bytes, becomes a text that is
 * not JSON: a push lists it as refused and accepts the others.
 */
export async function* readDocuments(input: BytesInput): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let first = true;
  for await (const bytes of splitLines(chunksOf(input), MAX_LINE_BYTES)) {
    const text = toText(bytes, (line) => decoder.decode(line));
    const document = first && text.startsWith("\u{feff}") ? text.slice(1) : text;
    first = false;
    if (!/^[ \t]*$/.test(document)) yield document;
  }
}

function toText(bytes: Uint8Array | null, decode: (bytes: Uint8Array) => string): string {
  if (bytes === null) return `${NO_JSON} a line of more than ${MAX_LINE_BYTES} bytes`;
  try {
    return decode(bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes);
  } catch {
    return `${NO_JSON} a line that is not valid UTF-8`;
  }
}

/** No JSON text begins with the replacement character. */
const NO_JSON = "\u{fffd}";

/**
 * Splits bytes at LF only. Yields each line without its LF, or `null` for a line longer than `maxBytes`, which is not
 * buffered.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array | null> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let tooLong = false;
  const hold = (piece: Uint8Array) => {
    heldBytes += piece.length;
    tooLong ||= heldBytes > maxBytes;
    if (tooLong) held = [];
    else held.push(piece);
  };
  const take = () => {
    const line = tooLong ? null : joined(held, heldBytes);
    held = [];
    heldBytes = 0;
    tooLong = false;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      hold(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    // Copy the rest: a source may reuse its buffer for the next bytes.
    if (start < chunk.length) hold(chunk.slice(start));
  }
  if (heldBytes > 0) yield take();
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

async function* chunksOf(input: BytesInput): AsyncGenerator<Uint8Array> {
  if (input instanceof Uint8Array) yield input;
  else if (input instanceof ArrayBuffer) yield new Uint8Array(input);
  else if (input instanceof Blob) yield* chunksOfStream(input.stream());
  else if (input instanceof ReadableStream) yield* chunksOfStream(input);
  else for await (const chunk of input) yield bytesOf(chunk);
}

/** Not every runtime's streams are async iterable. */
async function* chunksOfStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield bytesOf(read.value);
  } finally {
    await reader.cancel();
  }
}

/** A chunk. Its type may not be what the stream declares. */
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError("readDocuments needs bytes or a stream of bytes. Do not set an encoding on the stream.");
}
