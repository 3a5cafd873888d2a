import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { splitLines } from "../lines.ts";
import { CommandError } from "./cli.ts";
import { EXIT } from "./exit-codes.ts";
import { locationKey, splitValues, type Line } from "./formats/index.ts";

/** A file that can be read any number of times. */
export interface Input {
  /** The name as given; `stdin` for `-`. */
  readonly name: string;
  /** Size in bytes; `null` for a gzip file, whose unpacked size is unknown. */
  readonly size: number | null;
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens a file. Standard input, and any other source that can be read only once (such as the pipe `/dev/fd/63`), is
 * copied to a temporary file so that it can be sent again. Gzip, detected by its first two bytes, is unpacked.
 */
export async function openInput(
  path: string,
  { stdin, signal }: { readonly stdin: Readable; readonly signal: AbortSignal },
): Promise<Input> {
  if (path === "-") return keepStream("stdin", stdin, signal);
  const found = await stat(path).catch((error: unknown) => {
    throw new CommandError(EXIT.error, `${path} cannot be read: ${reasonOf(error)}`);
  });
  if (found.isDirectory()) throw new CommandError(EXIT.error, `${path} cannot be read: it is a folder`);
  if (!found.isFile()) return keepStream(nameOfPipe(path), createReadStream(path), signal);
  return inputOf(path, path, async () => {});
}

async function inputOf(name: string, path: string, close: () => Promise<void>): Promise<Input> {
  const packed = await isPacked(path).catch((error: unknown) => {
    throw new CommandError(EXIT.error, `${name} cannot be read: ${reasonOf(error)}`);
  });
  const { size } = await stat(path);
  const read = () => createReadStream(path, { highWaterMark: 262_144 });
  return packed ? { name, size: null, read: () => unpacked(name, read()), close } : { name, size, read, close };
}

/** Detects the two magic bytes of gzip, which no UTF-8 text begins with. */
async function isPacked(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

async function keepStream(name: string, stream: Readable, signal: AbortSignal): Promise<Input> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-"));
  const path = join(folder, "input");
  const removeNow = () => rmSync(folder, { recursive: true, force: true });
  // Delete the copy however the process ends.
  process.once("exit", removeNow);
  const close = async () => {
    await rm(folder, { recursive: true, force: true });
    process.off("exit", removeNow);
  };
  try {
    await pipeline(stream, createWriteStream(path), { signal });
    return await inputOf(name, path, close);
  } catch (error) {
    await close();
    if (signal.aborted || error instanceof CommandError) throw error;
    throw new CommandError(EXIT.error, `${name} cannot be read: ${reasonOf(error)}`);
  }
}

/** Shell pipes have numbered names in a read-only folder, so refused lines go to the working directory. */
function nameOfPipe(path: string): string {
  return /^\/(dev|proc)\//.test(path) ? "pipe" : path;
}

async function* unpacked(name: string, file: Readable): AsyncGenerator<Uint8Array> {
  const unpack = createGunzip();
  file.once("error", (error) => unpack.destroy(error));
  try {
    for await (const chunk of file.pipe(unpack)) yield chunk as Uint8Array;
  } catch (error) {
    throw new CommandError(EXIT.error, `${name} cannot be unpacked: it is truncated or not gzip (${reasonOf(error)})`);
  } finally {
    file.destroy();
  }
}

export function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return "no such file";
  if (code === "EISDIR") return "it is a folder";
  return code === "EACCES" ? "permission denied" : code || "it failed";
}

const LF = 0x0a;
/** Maximum bytes in a line: a JavaScript string holds at most 536,870,888 characters. */
const MAX_TEXT_BYTES = 500_000_000;

/** The lines of a file, without a leading byte order mark and without the CR of a CRLF. */
export async function* readLines(input: Pick<Input, "read">, maxBytes = MAX_TEXT_BYTES): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let number = 0;
  for await (const line of splitLines(input.read(), maxBytes)) {
    number += 1;
    if (line === null) {
      yield { number, text: null, flaw: `the line is longer than ${maxBytes / 1e6} MB` };
      continue;
    }
    const bytes = line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
    const decoded = decoder.decode(bytes);
    const text = number === 1 && decoded.startsWith("\u{feff}") ? decoded.slice(1) : decoded;
    yield isUtf8(bytes) ? { number, text } : { number, text: null, lossy: text };
  }
}

/**
 * A key derived from the content of the file and the options that decide what is pushed. The same input gives the same
 * push.
 */
export async function contentKey(
  input: Input,
  options: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256").update(`${JSON.stringify(options)}\n`);
  for await (const chunk of input.read()) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return `file-${hash.digest("hex").slice(0, 40)}`;
}

/** Copies lines unchanged to a new file. `ranges` are in order and do not overlap. */
export async function copyLines(
  input: Input,
  ranges: readonly { readonly first: number; readonly last: number }[],
  path: string,
): Promise<void> {
  async function* wanted(): AsyncGenerator<Uint8Array> {
    let number = 1;
    let at = 0;
    let open = false;
    for await (const chunk of input.read()) {
      for (let start = 0; start < chunk.length;) {
        const found = chunk.indexOf(LF, start);
        const end = found < 0 ? chunk.length : found + 1;
        while (number > (ranges[at]?.last ?? Infinity)) at += 1;
        if (number >= (ranges[at]?.first ?? Infinity)) {
          yield chunk.subarray(start, end);
          open = found < 0;
        }
        if (found >= 0) number += 1;
        start = end;
      }
    }
    // The last line may have no line ending.
    if (open) yield Buffer.of(LF);
  }
  await pipeline(wanted(), createWriteStream(path));
}

/** Copies JSON values, several of which may share a line, to a new file, one per line. */
export async function copyValues(input: Input, keys: ReadonlySet<string>, path: string): Promise<void> {
  async function* lines(): AsyncGenerator<Line> {
    let number = 0;
    for await (const line of splitLines(input.read(), MAX_TEXT_BYTES)) {
      number += 1;
      // latin1 maps each byte to one character, so bytes are copied unchanged. JSON is split at ASCII characters only.
      const text = line === null ? null : Buffer.from(line).toString("latin1");
      yield { number, text: number === 1 && text?.startsWith(LATIN1_MARK) === true ? text.slice(3) : text };
    }
  }
  async function* wanted(): AsyncGenerator<Uint8Array> {
    for await (const value of splitValues(lines())) {
      if (value.text !== "" && keys.has(locationKey(value))) yield Buffer.from(`${value.text}\n`, "latin1");
    }
  }
  await pipeline(wanted(), createWriteStream(path));
}

/** A byte order mark, one character for each of its bytes. */
const LATIN1_MARK = "\u00ef\u00bb\u00bf";
