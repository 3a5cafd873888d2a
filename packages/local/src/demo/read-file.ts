import { readFile as readBytes } from "node:fs/promises";
import { readLines, reasonOf } from "@sluice/client/input";
import { MAX_REQUEST_BYTES, type RejectedLine } from "@sluice/client/library";
import { bytes as bytesWords } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";

/** A line to push. Only the API decides whether it is a document. */
export interface FileLine {
  /** From 1, as in an editor. */
  readonly line: number;
  readonly text: string;
}

export interface File {
  readonly name: string;
  readonly bytes: number;
  /** The lines that are not blank. Their index is their position in the push. */
  readonly documents: readonly FileLine[];
  /** Lines that cannot be pushed, because they are not text. */
  readonly unreadable: readonly RejectedLine[];
}

/**
 * Reads an NDJSON file of documents. `name` is the path as the user typed it. Returns a one-line error if there is
 * nothing to push.
 */
export async function readFile(path: string, name: string): Promise<Result<File, string>> {
  let bytes: Uint8Array;
  try {
    bytes = await readBytes(path);
  } catch (error) {
    return err(`${name} cannot be read: ${reasonOf(error)}`);
  }
  // Each line is sent with a line feed, including the last.
  if (bytes.length >= MAX_REQUEST_BYTES) {
    const limit = bytesWords(MAX_REQUEST_BYTES);
    return err(`${name} has ${bytesWords(bytes.length)}; demo accepts less than ${limit}. Use dev and sluice push`);
  }
  const documents: FileLine[] = [];
  const unreadable: RejectedLine[] = [];
  for await (const { number, text } of readLines({ read: () => chunksOf(bytes) })) {
    if (text === null) unreadable.push({ line: number, detail: "the line is not valid UTF-8" });
    else if (!/^[ \t]*$/.test(text)) documents.push({ line: number, text });
  }
  const [first] = documents;
  if (first === undefined && unreadable.length === 0) {
    return err(`${name} is empty: it must have one document per line, ${EXAMPLE}`);
  }
  if (first?.text.trimStart().startsWith("[") === true) {
    return err(`${name} is a JSON list: put each document on its own line, for example with \`jq -c '.[]'\` does`);
  }
  if (!documents.some(({ text }) => isObject(text))) {
    return err(`${name} has no document: each line must be one, ${EXAMPLE}`);
  }
  return ok({ name, bytes: bytes.length, documents, unreadable });
}

const EXAMPLE = 'such as {"id":"q1","query":"…","contexts":["…","…"]}';

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
