import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memberText, parseDocument, type Document } from "@sluice/core";

const FILE = join(import.meta.dirname, "../sample/everyday.ndjson");

/** The sample's documents, as the producer would parse them. */
export function readSample(): Document[] {
  const lines = readFileSync(FILE, "utf8").trimEnd().split("\n");
  return lines.map((line, index) => {
    const rules = { model: "@cf/baai/bge-m3", truncateInputs: false } as const;
    const parsed = parseDocument(JSON.parse(line), memberText(line, "metadata"), rules);
    if (!parsed.ok) throw new Error(`line ${index + 1}: ${JSON.stringify(parsed.error)}`);
    return parsed.value;
  });
}

/** A field of the document's metadata. */
export function metadataOf(document: Document, name: string): unknown {
  return (JSON.parse(document.metadata ?? "{}") as Record<string, unknown>)[name];
}

/** The index of the context that answers the query, or -1 if the metadata names none. */
export function bestIndex(document: Document): number {
  const ids = document.contextIds ?? document.contexts.map((_, index) => String(index));
  return ids.indexOf(String(metadataOf(document, "best")));
}

/** Whether the best context shares no word with the query. */
export function sharesNoWord(document: Document): boolean {
  const words = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const best = words(document.contexts[bestIndex(document)] ?? "");
  return [...words(document.query)].every((word) => !best.has(word));
}
