import { readFileSync } from "node:fs";
import { TextDecoder } from "node:util";
import { err, nameDocument, ok, type Result, type SubmissionId } from "@sluice/core";
import * as z from "zod";

/** A line of the file, as far as the demo needs it: the producer alone says whether it is a document. */
export interface FileDocument {
  /** `null`: it is named after its submission and place. */
  readonly id: string | null;
  /** Its place in the push: counted from 0 over the lines that are not blank. */
  readonly place: number;
  readonly query: string;
  /** Texts. */
  readonly contexts: readonly string[];
  readonly line: string;
}

export interface File {
  readonly name: string;
  /** As they are: what is no UTF-8 is the producer's to refuse. */
  readonly bytes: Buffer<ArrayBuffer>;
  readonly documents: readonly FileDocument[];
}

/** Blank lines have no place in a push. */
const blankLine = /^[ \t\r]*$/;

/** A line of a push that is not blank. */
export interface Line {
  /** From 1, as an editor counts. */
  readonly number: number;
  /** From 0, over the lines that are not blank. */
  readonly place: number;
  /** `null`: it is no UTF-8. */
  readonly text: string | null;
}

const LF = 0x0a;

/** The lines that are not blank, as the producer sees them: without a byte order mark in front of the first. */
export function* linesOf(bytes: Uint8Array): Generator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let place = 0;
  let number = 0;
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(LF, start);
    const end = found < 0 ? bytes.length : found;
    number += 1;
    const decoded = decode(decoder, bytes.subarray(start, end));
    const text = number === 1 && decoded !== null ? decoded.replace(/^\uFEFF/, "") : decoded;
    start = end + 1;
    if (text !== null && blankLine.test(text)) continue;
    yield { number, place, text };
    place += 1;
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

const lineSchema = z.object({
  id: z.string().optional(),
  query: z.string(),
  contexts: z.array(z.union([z.string(), z.object({ text: z.string() }).transform(({ text }) => text)])),
});

/** Reads an NDJSON file of documents; `name` is how the person calls it. Gives one line where there is nothing to push. */
export function readFile(path: string, name: string): Result<File, string> {
  let bytes: Buffer<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return err(`${name} cannot be read: ${reason(error)}`);
  }
  const documents: FileDocument[] = [];
  let lines = 0;
  for (const { place, text } of linesOf(bytes)) {
    const document = text === null ? null : readLine(text, place);
    if (document !== null) documents.push(document);
    lines += 1;
  }
  if (lines === 0) return err(`${name} is empty: a document a line is wanted, ${EXAMPLE}`);
  if (documents.length === 0 && isList(bytes)) {
    return err(`${name} holds one JSON list: put each document on a line of its own, as \`jq -c '.[]'\` does`);
  }
  if (documents.length === 0) return err(`${name} holds no document: each line must be one, ${EXAMPLE}`);
  return ok({ name, bytes, documents });
}

function isList(bytes: Uint8Array): boolean {
  for (const { text } of linesOf(bytes)) return text?.trimStart().startsWith("[") === true;
  return false;
}

const EXAMPLE = 'such as {"id":"q1","query":"…","contexts":["…","…"]}';

function readLine(line: string, place: number): FileDocument | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) return null;
  const { id, query, contexts } = parsed.data;
  return { id: id ?? null, place, query, contexts, line };
}

/** What a document of the file is called in D1. */
export function documentName(document: FileDocument, submission: SubmissionId): string {
  return document.id ?? nameDocument(submission, document.place);
}

function reason(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES") return "this user may not read it";
  return error instanceof Error ? error.message : String(error);
}
