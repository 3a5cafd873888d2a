import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { CommandError } from "./cli.ts";
import { EXIT } from "./exit-codes.ts";
import type { Line } from "./formats/index.ts";

/** A file that can be read as often as it takes. */
export interface Input {
  /** As it was named; `stdin` for `-`. */
  readonly name: string;
  /** Bytes; `null` where it is packed, since nobody knows how many it unpacks to. */
  readonly size: number | null;
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens a file, or standard input, which is kept in a temporary file so that it can be sent again. What
 * is packed with gzip, as its first bytes tell, is unpacked.
 */
export async function openInput(path: string, signal: AbortSignal): Promise<Input> {
  if (path === "-") return keepStdin(signal);
  const found = await stat(path).catch((error: unknown) => {
    throw new CommandError(EXIT.error, `${path} cannot be read: ${reasonOf(error)}`);
  });
  if (found.isDirectory()) throw new CommandError(EXIT.error, `${path} cannot be read: it is a folder`);
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

/** By the two bytes that gzip begins with, and no text in UTF-8 does. */
async function isPacked(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

async function keepStdin(signal: AbortSignal): Promise<Input> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-"));
  const path = join(folder, "stdin");
  const removeNow = () => rmSync(folder, { recursive: true, force: true });
  // However the process ends, nothing of it stays.
  process.once("exit", removeNow);
  const close = async () => {
    await rm(folder, { recursive: true, force: true });
    process.off("exit", removeNow);
  };
  try {
    await pipeline(process.stdin, createWriteStream(path), { signal });
    return await inputOf("stdin", path, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function* unpacked(name: string, file: Readable): AsyncGenerator<Uint8Array> {
  const unpack = createGunzip();
  file.once("error", (error) => unpack.destroy(error));
  try {
    for await (const chunk of file.pipe(unpack)) yield chunk as Uint8Array;
  } catch (error) {
    throw new CommandError(EXIT.error, `${name} cannot be unpacked: it broke off, or is no gzip (${reasonOf(error)})`);
  } finally {
    file.destroy();
  }
}

export function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return "there is no such file";
  return code === "EACCES" ? "it may not be read" : code || "it failed";
}

const LF = 0x0a;

/** The lines of bytes, without their ends, as bytes. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const piece = chunk.subarray(start, end);
      yield held.length === 0 ? piece : Buffer.concat([...held, piece]);
      held = [];
      start = end + 1;
    }
    if (start < chunk.length) held.push(chunk.subarray(start));
  }
  if (held.length > 0) yield Buffer.concat(held);
}

/** The lines of a file; a byte order mark in front of the first, and the CR of a CRLF, are left out. */
export async function* readLines(input: Pick<Input, "read">): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let number = 0;
  for await (const bytes of splitLines(input.read())) {
    number += 1;
    let text: string | null = null;
    try {
      text = decoder.decode(bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes);
      if (number === 1 && text.startsWith("\u{feff}")) text = text.slice(1);
    } catch {
      // Told of the line, where it is refused.
    }
    yield { number, text };
  }
}

/** A key of the file's content and of what else decides what is pushed: the same again is the same push. */
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

/** Copies lines, as they are, to a file of their own. `ranges` are in order and do not overlap. */
export async function copyLines(
  input: Input,
  ranges: readonly { readonly first: number; readonly last: number }[],
  path: string,
): Promise<void> {
  async function* wanted(): AsyncGenerator<Uint8Array> {
    let number = 0;
    let at = 0;
    for await (const line of splitLines(input.read())) {
      number += 1;
      while (number > (ranges[at]?.last ?? Infinity)) at += 1;
      if (number >= (ranges[at]?.first ?? Infinity)) yield Buffer.concat([line, Buffer.of(LF)]);
    }
  }
  await pipeline(wanted(), createWriteStream(path));
}
