import { callTimeout, dispatchLease, firstPollAt } from "./schedule.ts";
import { listMembers } from "./job.ts";
import { uuidTail, type JobId, type ModelName, type SubmissionId } from "@sluice/core";
import { confirmDispatch } from "./sql/confirm-dispatch.ts";
import { deferJob, startDispatch } from "./sql/start-dispatch.ts";
import { postponeJob } from "./sql/postpone-job.ts";
import type { DocumentContent } from "./sql/read-job-documents.ts";
import { submitBatch, toRequest } from "@sluice/inference";
import type { Context } from "../platform/context.ts";
import { settleRefusal } from "./settle-refusal.ts";

/** A job that may be dispatched: recorded and pending, or left behind by a dispatch that broke off. */
export interface DispatchableJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly status: "pending" | "dispatching";
  /** The last dispatch started; 0 before the first. */
  readonly dispatchNumber: number;
  readonly round: number;
  readonly refusals: number;
  /** Batches of one of its documents that may have been accepted: fewer than `MAX_BATCHES`. */
  readonly batches: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
}

/** `over_rate`: the model takes no more submits for now, and the job waits for its turn without a dispatch. */
export type DispatchOutcome = "dispatched" | "refused" | "canceled" | "superseded" | "over_rate";

/**
 * D1 took so long over the dispatch that the call might outlast the lease: another could dispatch the
 * job meanwhile. Nothing was sent.
 */
const LATE = { reason: "late", message: "D1 was too slow for the dispatch to begin in time: it is started again." };

/**
 * Hands a job to Workers AI: starts a dispatch, which fixes the list; submits exactly that list; and
 * records the `request_id`. Between the first and the last of these a death is found by the lease.
 *
 * `content` must have been read before the call and may hold more than the list: what was deleted or
 * canceled since is left out. A refusal is carried out here.
 */
export async function dispatchJob(
  io: Context,
  job: DispatchableJob,
  content: readonly DocumentContent[],
): Promise<DispatchOutcome> {
  const startedAt = io.now();
  const started = await startDispatch(
    io.db,
    job,
    { until: startedAt + dispatchLease(io.runInterval), token: uuidTail(io.randomBytes(10)) },
    startedAt,
  );
  if (started === null) {
    const dueAt = await deferJob(io.db, job, "submit_rate", startedAt);
    if (dueAt === null) return "superseded";
    io.log({ event: "submit_rate_reached", job: job.id, due_at: dueAt });
    return "over_rate";
  }
  const documents = listMembers(started.members);
  if (documents.length === 0) return "canceled";

  const contentOf = new Map(content.map((one) => [memberKey(one.submission, one.document), one]));
  const requests = documents.map(({ submission, document }) => {
    const found = contentOf.get(memberKey(submission, document));
    if (found === undefined) throw new Error(`the content of job ${job.id} lacks a document of its list`);
    return toRequest(found);
  });
  const ready = io.now();
  if (ready - startedAt > dispatchLease(io.runInterval) - callTimeout(io.runInterval)) {
    const late = { ...job, dispatchNumber: started.dispatchNumber, status: "dispatching" } as const;
    await postponeJob(io.db, late, LATE, { dispatch: "none", refused: false }, ready, ready);
    return "refused";
  }
  const answer = await submitBatch(io.ai, job.model, requests, io.bounded);
  const dispatched = {
    ...job,
    dispatchNumber: started.dispatchNumber,
    batches: job.batches + 1,
    status: "dispatching" as const,
    members: started.members,
    sent: documents.length,
  };
  if (answer.kind === "refused") {
    await settleRefusal(io, dispatched, answer.refusal);
    return "refused";
  }
  const now = io.now();
  const held = await confirmDispatch(io.db, dispatched, answer.requestId, firstPollAt(now, io.runInterval));
  io.log({
    event: "job_dispatched",
    job: job.id,
    dispatch: started.dispatchNumber,
    documents: documents.length,
    request_id: answer.requestId,
    held,
  });
  return held ? "dispatched" : "superseded";
}

/** An id holds no control character, so a line break keeps the two apart. */
function memberKey(submission: SubmissionId, document: string): string {
  return `${submission}\n${document}`;
}
