import { Sluice } from "@sluice/client/library";
import { parseSubmissionId, type SubmissionId } from "@sluice/core";

/** A running stack and a key to its API. */
export interface Access {
  readonly stack: { readonly url: string };
  readonly key: string;
}

/** A client of the stack as it runs now: a restart may change its port. */
export function connect({ stack, key }: Access): Sluice {
  return new Sluice({ url: stack.url, key });
}

/** The client has ids as plain strings. Throws for what the API cannot have given. */
export function submissionId(id: string): SubmissionId {
  const parsed = parseSubmissionId(id);
  if (parsed === null) throw new Error(`${id} is not the id of a submission`);
  return parsed;
}
