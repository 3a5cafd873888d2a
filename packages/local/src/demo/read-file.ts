import { readFileSync } from "node:fs";
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
  readonly text: string;
  readonly bytes: number;
  readonly documents: readonly FileDocument[];
}

/** Blank lines have no place in a push. */
export const blankLine = /^[ \t\r]*$/;

const lineSchema = z.object({
  id: z.string().optional(),
  query: z.string(),
  contexts: z.array(z.union([z.string(), z.object({ text: z.string() }).transform(({ text }) => text)])),
});

/** Reads an NDJSON file of documents; `name` is how the person calls it. Gives one line where there is nothing to push. */
export function readFile(path: string, name: string): Result<File, string> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return err(`${name} cannot be read: ${reason(error)}`);
  }
  const text = bytes.toString("utf8");
  const documents: FileDocument[] = [];
  let place = 0;
  for (const line of text.split("\n")) {
    if (blankLine.test(line)) continue;
    const document = readLine(line, place);
    if (document !== null) documents.push(document);
    place += 1;
  }
  if (place === 0) return err(`${name} is empty: a document a line is wanted, ${EXAMPLE}`);
  if (documents.length === 0) return err(`${name} holds no document: each line must be one, ${EXAMPLE}`);
  return ok({ name, text, bytes: bytes.length, documents });
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
