import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument, type Document } from "@sluice/core";

const FILE = join(import.meta.dirname, "../sample/everyday.ndjson");

/** The sample's documents, as the producer would take them in. */
export function readSample(): Document[] {
  const lines = readFileSync(FILE, "utf8").trimEnd().split("\n");
  return lines.map((line, index) => {
    const parsed = parseDocument(JSON.parse(line), { model: "@cf/baai/bge-m3", truncateInputs: false });
    if (!parsed.ok) throw new Error(`line ${index + 1}: ${JSON.stringify(parsed.error)}`);
    return parsed.value;
  });
}

/** The index of the context that answers the query, or -1 where the metadata names none. */
export function bestIndex(document: Document): number {
  const ids = document.contextIds ?? document.contexts.map((_, index) => String(index));
  return ids.indexOf(String(document.metadata?.["best"]));
}

/** Whether word search has nothing to find the best context by. */
export function sharesNoWord(document: Document): boolean {
  const words = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const best = words(document.contexts[bestIndex(document)] ?? "");
  return [...words(document.query)].every((word) => !best.has(word));
}
