import { mutation, type Mutation } from "./mutation.ts";

/** Leaves `column` out of what jobs must have in common to be merged. */
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
    "a job whose documents another took over is dispatched too",
    "mergeJobs",
    "WHERE id IN (SELECT id FROM (${absorbed}))",
    "WHERE id IN (SELECT id FROM (${absorbed}) LIMIT 0)",
  ),
  mutation(
    "merged-without-documents",
    "a merged job's documents are in no job any more",
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
  mergedAcross("round", "a document that waits for its second answer is merged with one that waits for its first"),
  mergedAcross("batches", "documents that were in batches before are merged with ones that were in none"),
  mutation(
    "merged-weighs-as-before",
    "a job that took over others weighs as it did before",
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
