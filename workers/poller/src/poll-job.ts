import { groupMembers, nextPollAt } from "@sluice/core";
import { finalizeJobs, postponePoll, readJobDocuments, type ClaimedJob, type JobDocument } from "@sluice/db";
import { settleRefusal } from "@sluice/dispatch";
import { pollBatch, type AnswerItem, type Refusal } from "@sluice/inference";
import { applyAnswer } from "./apply-answer.ts";
import type { PollerIo } from "./run-poller.ts";

type DispatchedJob = Extract<ClaimedJob, { status: "dispatched" }>;

/** Whether D1 had to be asked: `waits` says that the batch is under way, and the claim set the next poll. */
type Polled = "waits" | "moved";

/** Asks for a job's answer and carries out what it says. */
export async function pollJob(io: PollerIo, job: DispatchedJob): Promise<Polled> {
  const answer = await pollBatch(io.ai, job.model, job.requestId, io.bounded);
  switch (answer.kind) {
    case "pending":
      return waitOn(io, job, io.stuckAfter);
    case "answered":
      await finalize(io, job, answer.items, answer.tokens);
      return "moved";
    case "refused":
      // The call failed, the batch may not have: ask again, and for longer than one that says it is busy.
      if (answer.refusal.mayBeRunning) return waitOn(io, job, 2 * io.stuckAfter);
      await giveUp(io, job, answer.refusal);
      return "moved";
  }
}

/** Leaves the job to a later run, or gives its batch up for stuck. */
async function waitOn(io: PollerIo, job: DispatchedJob, stuckAfter: number): Promise<Polled> {
  const now = io.now();
  if (now - job.dispatchedAt >= stuckAfter) {
    await giveUp(io, job, STUCK, "stuck");
    return "moved";
  }
  // The claim set the job due at the next run; only an older one waits longer.
  const dueAt = nextPollAt(now, job.dispatchedAt, io.runInterval);
  if (dueAt <= now + io.runInterval) return "waits";
  await postponePoll(io.db, job, dueAt);
  return "moved";
}

/** To a job whose batch is late: as if the service had forgotten it. */
const STUCK: Refusal = {
  class: "forgotten",
  code: null,
  message: "Workers AI gave no answer in time: the batch is dispatched again.",
  retryAfterSeconds: null,
  mayBeRunning: false,
};

async function giveUp(io: PollerIo, job: DispatchedJob, refusal: Refusal, reason?: string): Promise<void> {
  const documents = (await readJobDocuments(io.db, [job])).get(job.id) ?? [];
  const members = groupMembers(documents.filter((document) => document !== null));
  // One that is left of several was not alone in what was refused.
  await settleRefusal(io, { ...job, members, sent: documents.length }, refusal, reason);
}

async function finalize(
  io: PollerIo,
  job: DispatchedJob,
  items: readonly AnswerItem[],
  tokens: number | null,
): Promise<void> {
  const documents: readonly (JobDocument | null)[] = (await readJobDocuments(io.db, [job])).get(job.id) ?? [];
  const now = io.now();
  const end = applyAnswer(job, documents, items, {
    tokens,
    now,
    followUpAt: now + io.runInterval / 2,
    randomBytes: io.randomBytes,
  });
  const held = (await finalizeJobs(io.db, [{ job, end }], now)).has(job.id);
  io.log({
    event: "job_finalized",
    job: job.id,
    attempt: job.attempt,
    documents: documents.length,
    outcomes: end.outcomes.length,
    follow_up: end.children.length,
    held,
  });
}
