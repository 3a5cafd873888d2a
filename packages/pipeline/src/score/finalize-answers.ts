import { MAX_TRANSACTION_BYTES } from "@sluice/core";
import { describeError } from "../platform/describe-error.ts";
import type { EndingJob, JobEnd } from "../job/job-end.ts";
import { finalizeJobs } from "./sql/finalize-jobs.ts";
import { isTransient } from "@sluice/db";
import { readJobDocuments } from "../job/sql/read-job-documents.ts";
import type { DispatchedJob } from "../job/sql/claim-due-jobs.ts";
import type { AnswerItem } from "@sluice/inference";
import { applyAnswer } from "./apply-answer.ts";
import type { PollerContext } from "../job/poller-context.ts";

/** The answer to a job's batch. */
export interface AnsweredJob {
  readonly job: DispatchedJob;
  readonly items: readonly AnswerItem[];
  /** Tokens of the whole batch; `null` if unknown. */
  readonly tokens: number | null;
}

/** Maximum statements of one set: its read, and lists of 1.9 MB in a transaction of up to about 5 MB. */
export const SET_STATEMENTS = 12;

interface Ending extends EndingJob {
  readonly job: DispatchedJob;
  /** Documents that were sent. */
  readonly documentCount: number;
}

/**
 * Applies the answers of several jobs in as few transactions as their size allows. If D1 refuses a transaction, its
 * jobs are finalized one by one, so that a failing one does not delay the others. Returns the number of jobs that
 * failed: the claim has set their next poll.
 */
export async function finalizeAnswers(context: PollerContext, answers: readonly AnsweredJob[]): Promise<number> {
  const failed = (jobs: readonly DispatchedJob[], error: unknown): number => {
    for (const { id, dispatchNumber: dispatch, status } of jobs)
      context.log({ event: "job_broke_off", job: id, dispatch, status, ...describeError(error) });
    return jobs.length;
  };
  const jobs = answers.map(({ job }) => job);
  let ending: Ending[];
  try {
    const lists = await readJobDocuments(context.db, jobs);
    ending = answers.map((answer) => endOf(context, answer, lists.get(answer.job.id) ?? []));
  } catch (error) {
    return failed(jobs, error);
  }
  let failures = 0;
  for (const set of transactions(ending)) {
    try {
      await finalizeSet(context, set);
    } catch (error) {
      const isOne = set.length === 1 || isTransient(error);
      if (!isOne) context.log({ event: "set_refused", jobs: set.length, ...describeError(error) });
      for (const one of isOne ? [] : set)
        failures += await finalizeSet(context, [one]).then(
          () => 0,
          (refusal: unknown) => failed([one.job], refusal),
        );
      if (isOne)
        failures += failed(
          set.map(({ job }) => job),
          error,
        );
    }
  }
  return failures;
}

function endOf(
  context: PollerContext,
  { job, items, tokens }: AnsweredJob,
  documents: Parameters<typeof applyAnswer>[1],
): Ending {
  const now = context.now();
  const followUpAt = now + context.runInterval / 2;
  const end = applyAnswer(job, documents, items, { tokens, now, followUpAt, randomBytes: context.randomBytes });
  return { job, end, documentCount: documents.length };
}

async function finalizeSet(context: PollerContext, set: readonly Ending[]): Promise<void> {
  const ended = await finalizeJobs(context.db, set, context.now());
  for (const { job, end, documentCount } of set)
    context.log({
      event: "job_finalized",
      job: job.id,
      dispatch: job.dispatchNumber,
      documents: documentCount,
      outcomes: end.outcomes.length,
      follow_up: end.children.length,
      held: ended.has(job.id),
    });
}

/** Divides ends into consecutive sets, each a transaction of up to about 5 MB. */
function transactions(ending: readonly Ending[]): Ending[][] {
  const sets: Ending[][] = [];
  let bytes = Infinity;
  for (const one of ending) {
    const size = weighEnd(one.end);
    if (bytes + size > MAX_TRANSACTION_BYTES) {
      sets.push([]);
      bytes = 0;
    }
    sets.at(-1)?.push(one);
    bytes += size;
  }
  return sets;
}

/** `[49999,-0.12345678901234568,""],` */
const SCORE_BYTES = 32;
/** Bytes of an outcome's document and submission, with names, times and codes. */
const OUTCOME_BYTES = 400;

function weighEnd({ outcomes, children }: JobEnd): number {
  let bytes = OUTCOME_BYTES;
  for (const outcome of outcomes) {
    bytes += OUTCOME_BYTES;
    if (!("scores" in outcome)) continue;
    for (const [, , id = ""] of outcome.scores) bytes += SCORE_BYTES + id.length;
  }
  for (const { members } of children) for (const [, documents] of members) bytes += documents.length * OUTCOME_BYTES;
  return bytes;
}
