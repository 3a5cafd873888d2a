import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

/** Returns a function that reads everything appended to a file since this call. */
export function readNew(path: string): () => string {
  const start = size(path);
  return () => {
    const bytes = Buffer.alloc(Math.min(Math.max(size(path) - start, 0), MAX_BYTES));
    if (bytes.length === 0) return "";
    const file = openSync(path, "r");
    readSync(file, bytes, 0, bytes.length, start);
    closeSync(file);
    return bytes.toString("utf8");
  };
}

const MAX_BYTES = 1_000_000;
const MAX_LINES = 12;

function size(path: string): number {
  try {
    const file = openSync(path, "r");
    const { size: bytes } = fstatSync(file);
    closeSync(file);
    return bytes;
  } catch {
    return 0;
  }
}

/** The lines of wrangler's output from its first error on; empty if there is none. */
export function showErrors(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split("\n")
    .map((line) => line.trimEnd());
  const first = lines.findIndex((line) => /\[ERROR\]|^Error:/.test(line));
  if (first < 0) return "";
  return lines
    .slice(first)
    .filter((line) => line !== "")
    .slice(0, MAX_LINES)
    .join("\n");
}
