import { Sluice } from "@sluice/client/library";
import { parseSubmissionId, type SubmissionId } from "@sluice/core";

/** A running stack and a key to its API. */
export interface Access {
  readonly stack: { readonly url: string };
  readonly key: string;
}

/** Creates a client of the running stack. A restart may change its port. */
export function connect({ stack, key }: Access): Sluice {
  return new Sluice({ url: stack.url, key });
}

/** Brands a submission id of the client, which are plain strings. Throws if it is not a valid id. */
export function submissionId(id: string): SubmissionId {
  const parsed = parseSubmissionId(id);
  if (parsed === null) throw new Error(`${id} is not the id of a submission`);
  return parsed;
}
