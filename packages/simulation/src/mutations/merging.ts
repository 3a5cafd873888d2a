import { mutation, type Mutation } from "./mutation.ts";

/** Removes `column` from the columns that merged jobs must share. */
const mergedAcross = (column: "round" | "batches", breaks: string): Mutation => ({
  name: `merged-across-${column}`,
  breaks,
  replacements: [
    { in: "mergeJobs", find: `j.${column},`, replace: `t.${column},` },
    { in: "mergePending", find: ` \${${column}} `, replace: "" },
  ],
});

/** Small jobs that become one before they are dispatched. */
export const MERGING: readonly Mutation[] = [
  mutation(
    "merged-stays-pending",
    "a job that was merged into another is dispatched too",
    "mergeJobs",
    "WHERE id IN (SELECT id FROM (${absorbed}))",
    "WHERE id IN (SELECT id FROM (${absorbed}) LIMIT 0)",
  ),
  mutation(
    "merged-without-documents",
    "a merged job's documents are no longer in any job",
    "mergeJobs",
    "FROM taken WHERE id = ${target} AND taken.count > 0",
    "FROM taken WHERE id = ${target} AND taken.count > 1",
  ),
  {
    name: "dispatched-merged",
    breaks: "jobs that were dispatched before are merged",
    replacements: [
      { in: "isFresh", find: "AND ${job}.dispatch_number = 0", replace: "" },
      { in: "isSmallAndFresh", find: "dispatchNumber === 0", replace: "dispatchNumber >= 0" },
    ],
  },
  mutation(
    "pieces-merged",
    "pieces of a split job are merged again",
    "weighMergeableJobs",
    "(p.status = 'split' OR q.status = 'split')",
    "(p.status = 'open' OR q.status = 'open')",
  ),
  mergedAcross("round", "documents of different rounds are merged"),
  mergedAcross("batches", "documents with different numbers of batches are merged"),
  mutation(
    "merged-weighs-as-before",
    "a job that absorbs others keeps its old size",
    "mergeJobs",
    "payload_bytes = payload_bytes + taken.bytes",
    "payload_bytes = payload_bytes",
  ),
  mutation(
    "merged-over-limits",
    "jobs are merged into one that is too large",
    "mergePending",
    "of planJobs(oldestFirst)",
    "of [oldestFirst]",
  ),
];
