import { err, ok, type Result } from "@sluice/core";
import { mediaType } from "./respond.ts";
import type { Problem } from "./problems.ts";

/** Packed bytes unpack to a thousand times as many at most: pieces of this size stay below 16 MB. */
const PACKED_PIECE_BYTES = 16_384;

const BROKEN: Problem = {
  name: "broken-body",
  detail:
    "The body broke off before its end, or is no valid gzip: push it again, packed as a whole (several packed files in a row are not read).",
};

/** Why a body's type is refused, or `null`. A charset may be named if it is UTF-8. */
export function typeProblem(request: Request, allowed: readonly string[]): Problem | null {
  const header = request.headers.get("content-type") ?? "";
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(header)?.[1]?.toLowerCase() ?? "utf-8";
  if (allowed.includes(mediaType(header)) && ["utf-8", "utf8"].includes(charset)) return null;
  return {
    name: "unsupported-media-type",
    detail: `Send the body as ${allowed.join(" or ")}, in UTF-8, and say so in Content-Type.`,
    headers: { "accept-post": allowed.join(", ") },
  };
}

/**
 * A read costs objects that outlive a young collection, and 4 KB is what a plain one gives: 95 MB took
 * 23,000 of them. Between these bounds is what one read waits for and takes at most.
 */
const READ_BYTES = { least: 16_384, most: 65_536 };

/** A piece of a body, or why there will be no more. */
export type BodyPiece = Uint8Array | { readonly problem: Problem };

/**
 * A request's body as it comes, unpacked where it says `Content-Encoding: gzip`. A body that breaks
 * off or cannot be unpacked ends with a problem, not an exception.
 */
export function readBody(request: Request): Result<AsyncIterable<BodyPiece>, Problem> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity" && encoding !== "gzip") {
    return err({
      name: "unsupported-media-type",
      detail: "Send the body as it is or with Content-Encoding: gzip; no other encoding is read here.",
      headers: { "accept-encoding": "gzip" },
    });
  }
  const body: ReadableStream<Uint8Array> | null = request.body;
  if (body === null) return ok(noPieces());
  return ok(readStream(encoding === "gzip" ? unpacked(body) : body));
}

async function* noPieces(): AsyncGenerator<BodyPiece> {}

/** A stream as pieces; one that breaks off ends with a problem, not an exception. */
export async function* readStream(body: ReadableStream<Uint8Array>): AsyncGenerator<BodyPiece> {
  const reader = openReader(body);
  try {
    for (;;) {
      let piece: Uint8Array | null;
      try {
        piece = await reader.read();
      } catch {
        yield { problem: BROKEN };
        return;
      }
      if (piece === null) return;
      yield piece;
    }
  } finally {
    // What is not wanted any more is not waited for either.
    reader.cancel().catch(() => {});
  }
}

/** White space between the parts of JSON: a body of nothing else is empty. */
const JSON_SPACE = [0x20, 0x09, 0x0a, 0x0d];

/** Whether a request has a body that holds anything; it is not read on. The runtime tells by reading only. */
export async function hasBody(request: Request): Promise<boolean> {
  const body: ReadableStream<Uint8Array> | null = request.body;
  if (body === null) return false;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      if (!value.every((byte) => JSON_SPACE.includes(byte))) return true;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

interface PieceReader {
  /** `null`: the end. */
  read(): Promise<Uint8Array | null>;
  cancel(): Promise<void>;
}

/** Reads in large pieces where the stream can: one that is made in JavaScript comes as it was cut. */
function openReader(body: ReadableStream<Uint8Array>): PieceReader {
  let large: ReadableStreamBYOBReader;
  try {
    large = body.getReader({ mode: "byob" });
  } catch {
    const plain = body.getReader();
    return { read: async () => (await plain.read()).value ?? null, cancel: () => plain.cancel() };
  }
  return {
    read: async () => {
      const { value } = await large.readAtLeast(READ_BYTES.least, new Uint8Array(READ_BYTES.most));
      return value === undefined || value.length === 0 ? null : value;
    },
    cancel: () => large.cancel(),
  };
}

function unpacked(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  // Its end is seen where the unpacked bytes are read, an error too.
  void feed(openReader(body), writable.getWriter());
  return readable;
}

async function feed(reader: PieceReader, writer: WritableStreamDefaultWriter<BufferSource>): Promise<void> {
  writer.closed.catch(() => {});
  try {
    for (let piece = await reader.read(); piece !== null; piece = await reader.read()) {
      for (let at = 0; at < piece.length; at += PACKED_PIECE_BYTES) {
        await writer.write(piece.subarray(at, at + PACKED_PIECE_BYTES));
      }
    }
    await writer.close();
  } catch (error) {
    await Promise.allSettled([writer.abort(error), reader.cancel()]);
  }
}

/** A buffer for a body begins with this size and doubles. */
const FIRST_BUFFER_BYTES = 65_536;

/**
 * A whole body. Bytes are counted as they come: what a header says is no proof. `instead` says what to do
 * with a larger one. Pieces are copied into one buffer: it is outside the heap, and a smaller one is free at once.
 */
export async function readBytes(
  body: AsyncIterable<BodyPiece>,
  maxBytes: number,
  instead: string,
): Promise<Result<Uint8Array<ArrayBuffer>, Problem>> {
  let buffer = new ArrayBuffer(Math.min(FIRST_BUFFER_BYTES, maxBytes));
  let bytes = 0;
  for await (const piece of body) {
    if ("problem" in piece) return err(piece.problem);
    const needed = bytes + piece.length;
    if (needed > maxBytes) return err(tooLarge(maxBytes, instead));
    if (needed > buffer.byteLength) {
      buffer = buffer.transfer(Math.min(Math.max(needed, 2 * buffer.byteLength), maxBytes));
    }
    new Uint8Array(buffer).set(piece, bytes);
    bytes = needed;
  }
  return ok(new Uint8Array(buffer, 0, bytes));
}

/** A body as text, strictly UTF-8. One that holds nothing but white space is refused. */
export function decodeText(bytes: Uint8Array): Result<string, Problem> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return err({ name: "not-utf8", detail: "Some of its bytes are none of UTF-8: encode the text as UTF-8." });
  }
  return text.trim() === "" ? err(EMPTY_BODY) : ok(text);
}

/** A whole body as text, as `readBytes` and `decodeText` have it. */
export async function readText(
  body: AsyncIterable<BodyPiece>,
  maxBytes: number,
  instead: string,
): Promise<Result<string, Problem>> {
  const bytes = await readBytes(body, maxBytes, instead);
  return bytes.ok ? decodeText(bytes.value) : bytes;
}

export const EMPTY_BODY: Problem = {
  name: "empty-body",
  detail: "It holds no document: send one as JSON, or NDJSON with a document a line.",
};

function tooLarge(maxBytes: number, instead: string): Problem {
  return { name: "body-too-large", detail: `A JSON body has at most ${maxBytes} bytes here: ${instead}.` };
}
