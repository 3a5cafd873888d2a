import {
  DEFAULT_MODEL,
  measureDocument,
  memberText,
  parseDocument,
  PushTally,
  serializeDocument,
  type PushTotals,
  type SubmissionId,
} from "@sluice/core";
import type { PushedDocument } from "./rankings.ts";
import { documentName } from "./read-file.ts";

export interface Measured {
  /** Of all documents, whichever submission carried them. */
  readonly totals: PushTotals;
  /** For each submission, the bytes that each of its documents has in a message, by id. */
  readonly sizes: ReadonlyMap<SubmissionId, ReadonlyMap<string, number>>;
}

/** Measures accepted documents by the rules that the producer packs them by. */
export function measureDocuments(documents: readonly PushedDocument[]): Measured {
  const tally = new PushTally(DEFAULT_MODEL);
  const sizes = new Map<SubmissionId, Map<string, number>>();
  for (const { document, submission } of documents) {
    const rules = { model: DEFAULT_MODEL, truncateInputs: true } as const;
    const parsed = parseDocument(JSON.parse(document.line), memberText(document.line, "metadata"), rules);
    if (!parsed.ok) continue;
    const measured = measureDocument(parsed.value);
    if (measured.ok) tally.add(parsed.value, measured.value);
    const name = documentName(document, submission);
    const sent = serializeDocument(parsed.value, name, document.place);
    if (!sent.ok) continue;
    const ofSubmission = sizes.get(submission) ?? new Map<string, number>();
    sizes.set(submission, ofSubmission.set(name, sent.value.bytes));
  }
  return { totals: tally.totals, sizes };
}
