import { externalReference, type SubmissionId } from "@sluice/core";

/** One document as the Batch API takes it in. The key order is the one that payload sizes are counted by. */
export interface ScoreRequest {
  readonly query: string;
  readonly contexts: readonly { readonly text: string }[];
  /** Without it, over-long text is an error. */
  readonly truncate_inputs: boolean;
  /** Comes back with the result, or does not: a cross-check only. */
  readonly external_reference: string;
}

/** What a request is made of. `index` counts from 0 in the document's push. */
interface RequestSource {
  readonly submission: SubmissionId;
  readonly index: number;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly truncateInputs: boolean;
}

export function toRequest(source: RequestSource): ScoreRequest {
  const contexts: { text: string }[] = [];
  // Pushed: what `map` gives counts as a list with holes, which a service binding hands on entry by entry.
  for (const text of source.contexts) contexts.push({ text });
  return {
    query: source.query,
    contexts,
    truncate_inputs: source.truncateInputs,
    external_reference: externalReference(source.submission, source.index),
  };
}
