import type { PartMessage, PartWeight } from "@sluice/core";
import type { PartToRecord } from "./operations/record-parts.ts";

/** Takes a part apart into what `documents` is filled from and what stays together: its contexts. */
export function partToRecord(part: PartMessage, weight: PartWeight): PartToRecord {
  const rows: string[] = [];
  const contexts: string[] = [];
  for (const { contexts: texts, ...document } of part.documents) {
    rows.push(JSON.stringify({ ...document, context_count: texts.length }));
    contexts.push(`"${document.place}":${JSON.stringify(texts)}`);
  }
  return {
    submission: part.submission,
    part: part.part,
    hash: part.hash,
    documents: part.documents.map((document) => document.id),
    contextCount: weight.contexts,
    payloadBytes: weight.payloadBytes,
    rows: `[${rows.join(",")}]`,
    contexts: `{${contexts.join(",")}}`,
  };
}
