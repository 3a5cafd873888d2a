import { err, ok, type Result } from "@sluice/core";
import { mediaType } from "./respond.ts";
import type { Problem } from "./problems.ts";

/** Gzip expands bytes a thousandfold at most: pieces of this size stay below 16 MB. */
const GZIP_PIECE_BYTES = 16_384;

const BROKEN: Problem = {
  name: "broken-body",
  detail:
    "The body was interrupted or is not valid gzip. Push it again, compressed in one piece: concatenated gzip files are not supported.",
};

/** Why a body's type is refused, or `null`. A charset may be given if it is UTF-8. */
export function typeProblem(request: Request, allowed: readonly string[]): Problem | null {
  const header = request.headers.get("content-type") ?? "";
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(header)?.[1]?.toLowerCase() ?? "utf-8";
  if (allowed.includes(mediaType(header)) && ["utf-8", "utf8"].includes(charset)) return null;
  return {
    name: "unsupported-media-type",
    detail: `Send the body in UTF-8 with Content-Type: ${allowed.join(", ")}.`,
    headers: { "accept-post": allowed.join(", ") },
  };
}

/**
 * Each read allocates objects that outlive a young collection, and a plain one gives 4 KB: 95 MB took 23,000 of them. One
 * read waits for the minimum and takes the maximum at most.
 */
const READ_BYTES = { min: 16_384, max: 65_536 };

/** A piece of a body, or the problem that ends it. */
export type BodyPiece = Uint8Array | { readonly problem: Problem };

/**
 * A request's body as it arrives, decompressed if it has `Content-Encoding: gzip`. A body that is interrupted or cannot be
 * decompressed ends with a problem, not an exception.
 */
export function readBody(request: Request): Result<AsyncIterable<BodyPiece>, Problem> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity" && encoding !== "gzip") {
    return err({
      name: "unsupported-media-type",
      detail: "Send the body without Content-Encoding or with gzip: no other encoding is supported.",
      headers: { "accept-encoding": "gzip" },
    });
  }
  const body: ReadableStream<Uint8Array> | null = request.body;
  if (body === null) return ok(noPieces());
  return ok(readStream(encoding === "gzip" ? decompressed(body) : body));
}

async function* noPieces(): AsyncGenerator<BodyPiece> {}

/** A stream as pieces. An interrupted one ends with a problem, not an exception. */
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
    // The rest is not needed: do not wait for the end of the cancellation.
    reader.cancel().catch(() => {});
  }
}

/** White space in JSON: a body of nothing else is empty. */
const JSON_SPACE = [0x20, 0x09, 0x0a, 0x0d];

/** Whether a request has a body that is not empty. It reads up to the first content: the runtime cannot tell without. */
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

/** Reads large pieces if the stream supports it. A stream made in JavaScript keeps its own pieces. */
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
      const { value } = await large.readAtLeast(READ_BYTES.min, new Uint8Array(READ_BYTES.max));
      return value === undefined || value.length === 0 ? null : value;
    },
    cancel: () => large.cancel(),
  };
}

function decompressed(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  // Whoever reads the decompressed bytes sees its end, errors included.
  void feed(openReader(body), writable.getWriter());
  return readable;
}

async function feed(reader: PieceReader, writer: WritableStreamDefaultWriter<BufferSource>): Promise<void> {
  writer.closed.catch(() => {});
  try {
    for (let piece = await reader.read(); piece !== null; piece = await reader.read()) {
      for (let at = 0; at < piece.length; at += GZIP_PIECE_BYTES) {
        await writer.write(piece.subarray(at, at + GZIP_PIECE_BYTES));
      }
    }
    await writer.close();
  } catch (error) {
    await Promise.allSettled([writer.abort(error), reader.cancel()]);
  }
}

/** A buffer for a body starts at this size and doubles. */
const FIRST_BUFFER_BYTES = 65_536;

/**
 * A whole body. Bytes are counted as they arrive, since a header may be wrong. `instead` says what to do with a larger
 * body. Pieces are copied into one buffer, which is outside the heap; one that became too small is freed at once.
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

/** A body as text. It must be valid UTF-8, and more than white space. */
export function decodeText(bytes: Uint8Array): Result<string, Problem> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return err({ name: "not-utf8", detail: "Some bytes of the body are not UTF-8: encode the text as UTF-8." });
  }
  return text.trim() === "" ? err(EMPTY_BODY) : ok(text);
}

/** A whole body as text: `readBytes`, then `decodeText`. */
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
  detail: "The body has no document: send one as JSON, or NDJSON with one document per line.",
};

function tooLarge(maxBytes: number, instead: string): Problem {
  return { name: "body-too-large", detail: `A JSON body may have at most ${maxBytes} bytes here: ${instead}.` };
}
