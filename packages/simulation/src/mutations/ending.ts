import { mutation, VIEWS, type Mutation } from "./mutation.ts";

const FINALIZE = "packages/pipeline/src/score/sql/finalize-jobs.ts";
const POLL = "packages/pipeline/src/job/poll-jobs.ts";
const APPLY = "packages/pipeline/src/score/apply-answer.ts";
const MATCH = "packages/inference/src/match-answer.ts";

/** From a poll to an outcome. */
export const ENDING: readonly Mutation[] = [
  mutation(
    "outcome-before-fetch",
    "a batch that is still in progress ends its job without an outcome",
    POLL,
    'if (answer.kind === "answered") {',
    `if (answer.kind === "pending") Object.assign(answer, { kind: "answered", items: [], tokens: null });
      if (answer.kind === "answered") {`,
  ),
  mutation(
    "wrong-model-polled",
    "a batch is polled with another model than its own",
    POLL,
    "pollBatch(io.ai, job.model,",
    `pollBatch(io.ai, "@cf/baai/bge-large-en-v1.5",`,
  ),
  mutation(
    "stuck-not-counted",
    "a batch that was taken in is dispatched again without being counted",
    "packages/pipeline/src/job/settle-refusal.ts",
    `if (job.status === "dispatched") return "repeated";`,
    `if (job.status === "dispatched") return "none";`,
  ),
  mutation(
    "given-up-too-soon",
    "a batch is given up for stuck after half the time",
    POLL,
    "io.now() - job.dispatchedAt >= stuckAfter",
    "io.now() - job.dispatchedAt >= stuckAfter / 2",
  ),
  mutation(
    "any-dispatch-finalizes",
    "the answer of an older dispatch ends the job",
    FINALIZE,
    "j.id = ${entry} ->> 0 AND j.dispatch_number = ${entry} ->> 1 AND j.status = ${entry} ->> 2",
    "j.id = ${entry} ->> 0 AND j.status = ${entry} ->> 2",
  ),
  mutation(
    "finalized-twice",
    "a job that has ended is ended again",
    FINALIZE,
    "j.id = ${entry} ->> 0 AND j.dispatch_number = ${entry} ->> 1 AND j.status = ${entry} ->> 2",
    "j.id = ${entry} ->> 0 AND j.dispatch_number = ${entry} ->> 1",
  ),
  {
    name: "counters-outside-transaction",
    breaks: "outcomes are written in one transaction, the counters of their submissions in another",
    replacements: [
      { file: FINALIZE, find: "const ended = await transact<{ id: JobId }>(db, [", replace: "await transact(db, [" },
      {
        file: FINALIZE,
        find: "    countEnds(ends, now),\n",
        replace: "  ]);\n  const ended = await transact<{ id: JobId }>(db, [\n    countEnds(ends, now),\n",
      },
    ],
  },
  mutation(
    "children-without-guard",
    "follow-up jobs are recorded whether or not the job ends here",
    FINALIZE,
    "CROSS JOIN jobs j ON ${isHeld(sql`e.entry`)})\n    INSERT INTO jobs",
    "CROSS JOIN jobs j ON j.id = e.entry ->> 0)\n    INSERT INTO jobs",
  ),
  mutation(
    "list-computed-again",
    "the list that answers are matched to leaves out what was deleted since",
    "packages/pipeline/src/job/sql/read-job-documents.ts",
    "LEFT JOIN documents d ON",
    "CROSS JOIN documents d ON",
  ),
  mutation(
    "position-instead-of-id",
    "an item belongs to the document at its place in the answer",
    MATCH,
    "const index = itemIndex(item);",
    "const index = items.indexOf(item);",
  ),
  mutation(
    "reference-not-checked",
    "an item is taken though it says that it is another document's",
    MATCH,
    "reference !== undefined && reference !== null && reference !== document.reference",
    "reference === document.reference && document.contexts < 0",
  ),
  mutation(
    "numbers-not-checked",
    "a score need not be a finite number",
    MATCH,
    ` || typeof score !== "number" || !Number.isFinite(score)`,
    "",
  ),
  mutation(
    "follow-up-drops-documents",
    "a follow-up job holds only the first of the documents without a result",
    APPLY,
    "groupMembers(again)",
    "groupMembers(again.slice(0, 1))",
  ),
  mutation(
    "asked-for-ever",
    "a document without a result is asked for again without end",
    APPLY,
    "job.round >= MAX_ROUNDS",
    "job.round >= 1e9",
  ),
  mutation(
    "given-up-at-once",
    "a document without a result fails at the first answer",
    APPLY,
    "job.round >= MAX_ROUNDS",
    "job.round >= 1",
  ),
  mutation(
    "newest-by-time",
    "views show the version that was finalized last, not the newest",
    VIEWS,
    "AND n.submission_id > o.submission_id AND n.status = 'succeeded'",
    "AND n.finalized_at > o.finalized_at AND n.status = 'succeeded'",
    3,
  ),
  mutation(
    "retries-other-codes",
    "a retry that is limited to a code takes what failed beside it with another",
    "packages/pipeline/src/submission/sql/retry-failed.ts",
    "AND o.job_id IS NOT NULL AND (${code} = '' OR o.code = ${code})",
    "AND o.job_id IS NOT NULL",
  ),
];
