import { mutation, type Mutation } from "./mutation.ts";

const MERGE = "packages/pipeline/src/job/sql/merge-jobs.ts";
const MERGE_PENDING = "packages/pipeline/src/job/merge-pending.ts";

/** Leaves `column` out of what jobs must have in common to be merged. */
const mergedAcross = (column: "round" | "batches", breaks: string): Mutation => ({
  name: `merged-across-${column}`,
  breaks,
  replacements: [
    { file: MERGE, find: `j.${column},`, replace: `t.${column},` },
    { file: MERGE_PENDING, find: ` \${${column}} `, replace: " " },
  ],
});

/** Small jobs that become one before they are dispatched. */
export const MERGING: readonly Mutation[] = [
  mutation(
    "merged-stays-pending",
    "a job whose documents another took over is dispatched too",
    MERGE,
    "WHERE id IN (SELECT id FROM (${absorbed}))",
    "WHERE id IN (SELECT id FROM (${absorbed}) LIMIT 0)",
  ),
  mutation(
    "merged-without-documents",
    "a merged job's documents are in no job any more",
    MERGE,
    "FROM taken WHERE id = ${target} AND taken.count > 0",
    "FROM taken WHERE id = ${target} AND taken.count > 1",
  ),
  {
    name: "dispatched-merged",
    breaks: "jobs that were dispatched before are merged",
    replacements: [
      { file: MERGE, find: " AND ${job}.dispatch_number = 0", replace: "" },
      { file: MERGE_PENDING, find: "dispatchNumber === 0", replace: "dispatchNumber >= 0" },
    ],
  },
  mutation(
    "pieces-merged",
    "pieces of a split job are merged again",
    MERGE,
    "(p.status = 'split' OR q.status = 'split')",
    "(p.status = 'open' OR q.status = 'open')",
  ),
  mergedAcross("round", "a document that waits for its second answer is merged with one that waits for its first"),
  mergedAcross("batches", "documents that were in batches before are merged with ones that were in none"),
  mutation(
    "merged-over-limits",
    "jobs are merged into one that is too large",
    MERGE_PENDING,
    "of planJobs(oldestFirst)",
    "of [oldestFirst]",
  ),
];
