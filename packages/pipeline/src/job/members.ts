import { type SubmissionId } from "@sluice/core";

/** A job's documents in the order they are sent, grouped by submission so that no id is repeated. */
export type JobMembers = readonly (readonly [submission: SubmissionId, documentIds: readonly string[]])[];

/** Lists a job's documents in the order sent. A document's number is its index in the batch. */
export function listMembers(members: JobMembers): { readonly submission: SubmissionId; readonly document: string }[] {
  return members.flatMap(([submission, documents]) => documents.map((document) => ({ submission, document })));
}

/** Groups documents by submission, keeping their order. */
export function groupMembers(
  documents: readonly { readonly submission: SubmissionId; readonly document: string }[],
): JobMembers {
  const groups: [SubmissionId, string[]][] = [];
  for (const { submission, document } of documents) {
    const last = groups.at(-1);
    if (last !== undefined && last[0] === submission) last[1].push(document);
    else groups.push([submission, [document]]);
  }
  return groups;
}
