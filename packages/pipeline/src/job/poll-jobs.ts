import { groupMembers } from "./members.ts";
import { describeError } from "../platform/describe-error.ts";
import { readJobDocuments } from "./sql/read-job-documents.ts";
import { releasePolls } from "./sql/release-jobs.ts";
import type { DispatchedJob } from "./sql/claim-due-jobs.ts";
import { settleRefusal } from "./settle-refusal.ts";
import { pollBatch, type Refusal } from "@sluice/inference";
import { finalizeAnswers, SET_STATEMENTS, type AnsweredJob } from "../score/finalize-answers.ts";
import { PollOrder, type PendingAges } from "./poll-order.ts";
import type { PollerContext } from "./poller-context.ts";
import type { RunBudget } from "./run-budget.ts";

/** Memory for one context in an answer: its JSON, its parsed form, and its entry in an outcome. */
const ANSWER_CONTEXT_BYTES = 250;
/** Limits of the answers that are finalized together: weight and number of jobs. */
const MAX_SET_BYTES = 5_000_000;
const MAX_SET_JOBS = 64;
/** A batch that failed or is given up: its list, and the decision about the job. */
const POLL_STATEMENTS = 8;

interface Answer extends AnsweredJob {
  readonly bytes: number;
  readonly release: () => void;
}

/**
 * Polls claimed jobs, six at once, and finalizes their answers in sets. A failure affects only its job, which is due
 * again at the poll that the claim set. Younger batches are left to that poll without a call while older ones are in
 * progress. Jobs for which no budget or memory is left are made due now for another run. If `ages` is `null`, no job is
 * skipped because of its age. Returns the number of jobs that failed.
 */
export async function pollJobs(
  context: PollerContext,
  jobs: readonly DispatchedJob[],
  budget: RunBudget,
  ages: PendingAges | null = null,
): Promise<number> {
  const queue = new PollOrder(jobs, context.now(), ages);
  const running = new Set<Promise<void>>();
  let answers: Answer[] = [];
  let failed = 0;
  const finalize = async (): Promise<void> => {
    const set = answers;
    answers = [];
    if (set.length > 0) failed += await finalizeAnswers(context, set);
    for (const { release } of set) release();
  };
  const poll = async (job: DispatchedJob, bytes: number, release: () => void): Promise<void> => {
    let isHeld = false;
    try {
      const answer = await pollBatch(context.ai, job.model, job.requestId, context.bounded);
      if (answer.kind === "answered") {
        answers.push({ job, items: answer.items, tokens: answer.tokens, bytes, release });
        isHeld = true;
        queue.report(job, false);
        const weight = answers.reduce((sum, one) => sum + one.bytes, 0);
        if (weight >= MAX_SET_BYTES || answers.length >= MAX_SET_JOBS) await finalize();
        return;
      }
      const refusal = overdue(context, job, answer);
      queue.report(job, refusal === null);
      if (refusal !== null) await giveUp(context, job, refusal);
    } catch (error) {
      failed += 1;
      queue.report(job, false);
      const { id, dispatchNumber: dispatch, status } = job;
      context.log({ event: "job_broke_off", job: id, dispatch, status, ...describeError(error) });
    } finally {
      if (!isHeld) release();
    }
  };

  const leaveRest = async (): Promise<void> => {
    const left = queue.remaining;
    if (left.length === 0) return;
    context.log({ event: "polls_left", jobs: left.length });
    await releasePolls(context.db, left, context.now());
  };
  const unreserve = budget.reserve(SET_STATEMENTS);
  if (unreserve === null) {
    await leaveRest();
    return 0;
  }
  for (;;) {
    const disconnect = await budget.connect();
    const job = queue.next();
    const reserved = job === null ? null : budget.reserve(POLL_STATEMENTS);
    const bytes = job === null ? 0 : job.contexts * ANSWER_CONTEXT_BYTES;
    const release = reserved === null ? null : context.memory.hold(bytes, context.now());
    if (job === null || reserved === null || release === null) {
      reserved?.();
      disconnect();
      if (job !== null) queue.putBack(job);
      if (running.size > 0) await Promise.race(running);
      else if (answers.length > 0 && job !== null && release === null && reserved !== null) await finalize();
      else break;
      continue;
    }
    const task = poll(job, bytes, release).finally(() => {
      running.delete(task);
      reserved();
      disconnect();
    });
    running.add(task);
  }
  await finalize();
  await leaveRest();
  unreserve();
  return failed;
}

type NoAnswer = Exclude<Awaited<ReturnType<typeof pollBatch>>, { kind: "answered" }>;

/**
 * Why a batch without an answer is given up; `null` if it may still be in progress. Then the claim has set its next
 * poll.
 */
function overdue(
  context: PollerContext,
  job: DispatchedJob,
  answer: NoAnswer,
): { readonly refusal: Refusal; readonly reason?: string } | null {
  if (answer.kind === "refused" && !answer.refusal.mayBeRunning) return { refusal: answer.refusal };
  // If only the call failed, the batch may be fine, so it gets more time than a batch reported as in progress.
  const stuckAfter = answer.kind === "refused" ? 2 * context.stuckAfter : context.stuckAfter;
  return context.now() - job.dispatchedAt >= stuckAfter ? { refusal: STUCK, reason: "stuck" } : null;
}

/** For a batch that is late: treated as if the service had forgotten it. */
const STUCK: Refusal = {
  class: "forgotten",
  code: null,
  message: "Workers AI returned no result in time. The batch is dispatched again.",
  retryAfterSeconds: null,
  mayBeRunning: false,
};

async function giveUp(
  context: PollerContext,
  job: DispatchedJob,
  { refusal, reason }: { readonly refusal: Refusal; readonly reason?: string },
): Promise<void> {
  const documents = (await readJobDocuments(context.db, [job])).get(job.id) ?? [];
  const members = groupMembers(documents.filter((document) => document !== null));
  // The only document left was not alone in the refused batch.
  await settleRefusal(context, { ...job, members, sent: documents.length }, refusal, reason);
}
