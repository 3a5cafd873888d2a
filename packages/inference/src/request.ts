import { externalReference, type SubmissionId } from "@sluice/core";

/** One document in the form of the Batch API. Payload sizes are counted for this key order. */
export interface ScoreRequest {
  readonly query: string;
  readonly contexts: readonly { readonly text: string }[];
  /** Without it, a text that is too long is an error. */
  readonly truncate_inputs: boolean;
  /** May or may not come back with the result: a cross-check only. */
  readonly external_reference: string;
}

/** The parts of a request. `index` counts from 0 in the document's push. */
interface RequestSource {
  readonly submission: SubmissionId;
  readonly index: number;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly truncateInputs: boolean;
}

export function toRequest(source: RequestSource): ScoreRequest {
  const contexts: { text: string }[] = [];
  // Uses `push`, because `map` can produce a list with holes, which a service binding passes on entry by entry.
  for (const text of source.contexts) contexts.push({ text });
  return {
    query: source.query,
    contexts,
    truncate_inputs: source.truncateInputs,
    external_reference: externalReference(source.submission, source.index),
  };
}
