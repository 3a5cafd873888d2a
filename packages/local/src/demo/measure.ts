import { Checker } from "@sluice/client/check";
import { DEFAULT_MODEL, nameDocument, PushTally, serializeDocument, type PushTotals } from "@sluice/core";
import { submissionId } from "./connect.ts";
import type { File } from "./read-file.ts";

export interface Measured {
  /** Of all accepted documents. */
  readonly totals: PushTotals;
  /** The bytes of each document in a message, by id. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Measures the documents of a file with the producer's rules for accepting and packing. */
export function measureFile({ documents }: Pick<File, "documents">, id: string): Measured {
  const submission = submissionId(id);
  const checker = new Checker({ truncateInputs: true });
  const tally = new PushTally(DEFAULT_MODEL);
  const sizes = new Map<string, number>();
  for (const [index, { line, text }] of documents.entries()) {
    const checked = checker.check({ kind: "document", first: line, last: line, document: text });
    if (!checked.ok) continue;
    tally.add(checked.document, checked.serialized);
    const name = checked.document.id ?? nameDocument(submission, index);
    const sent = serializeDocument(checked.document, name, index);
    if (sent.ok) sizes.set(name, sent.value.bytes);
  }
  return { totals: tally.totals, sizes };
}
