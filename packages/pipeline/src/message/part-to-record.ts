import type { PartMessage } from "./message.ts";
import type { PartWeight } from "../job/plan-jobs.ts";
import { DOCUMENT, type PartToRecord } from "./sql/record-parts.ts";

/** Converts a part to its rows of `documents` and its texts for `contexts`. */
export function partToRecord(part: PartMessage, weight: PartWeight): PartToRecord {
  const rows: string[] = [];
  const texts: string[] = [];
  for (const { id, place: index, bytes, query, contexts, context_ids: contextIds, metadata } of part.documents) {
    const contextCount = contexts.length;
    rows.push(JSON.stringify(DOCUMENT.list({ id, index, bytes, contextCount, query, contextIds, metadata })));
    texts.push(JSON.stringify(contexts));
  }
  return {
    submission: part.submission,
    part: part.part,
    hash: part.hash,
    collection: part.collection,
    documentIds: part.documents.map((document) => document.id),
    contextCount: weight.contexts,
    payloadBytes: weight.payloadBytes,
    rows: `[${rows.join(",")}]`,
    texts: `[${texts.join(",")}]`,
  };
}
