import { callTimeout, dispatchLease, firstPollAt } from "./schedule.ts";
import { listMembers } from "./members.ts";
import { uuidTail, type JobId, type ModelName, type SubmissionId } from "@sluice/core";
import { confirmDispatch } from "./sql/confirm-dispatch.ts";
import { deferJob, startDispatch } from "./sql/start-dispatch.ts";
import { postponeJob } from "./sql/postpone-job.ts";
import type { DocumentContent } from "./sql/read-job-documents.ts";
import { submitBatch, toRequest } from "@sluice/inference";
import type { Context } from "../platform/context.ts";
import { settleRefusal } from "./settle-refusal.ts";

/** Maximum submissions that a logged line names. */
const MAX_NAMED = 20;

/** A job that may be dispatched: it is pending, or its last dispatch was interrupted. */
export interface DispatchableJob {
  readonly id: JobId;
  readonly model: ModelName;
  readonly status: "pending" | "dispatching";
  /** The last dispatch started; 0 before the first. */
  readonly dispatchNumber: number;
  readonly round: number;
  readonly refusals: number;
  /** The maximum, over its documents, of batches that may have been accepted; less than `MAX_BATCHES`. */
  readonly batches: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
}

/** `over_rate`: the submit rate of the model is reached, so the job waits without a dispatch. */
export type DispatchOutcome = "dispatched" | "refused" | "canceled" | "superseded" | "over_rate";

/**
 * D1 took so long to start the dispatch that the call could outlast the lease, and another Worker could dispatch the
 * job. Nothing was sent.
 */
const LATE = { reason: "late", message: "D1 was too slow to start the dispatch in time. The job is dispatched again." };

/**
 * Submits a job to Workers AI: starts a dispatch, which stores the list; submits exactly that list; and records the
 * `request_id`. If the Worker dies in between, the lease expires and the job is dispatched again.
 *
 * `content` must have been read before the call. It may hold more than the list: documents that were deleted or
 * canceled since are left out. Settles a refusal.
 */
export async function dispatchJob(
  context: Context,
  job: DispatchableJob,
  content: readonly DocumentContent[],
): Promise<DispatchOutcome> {
  const startedAt = context.now();
  const started = await startDispatch(
    context.db,
    job,
    { until: startedAt + dispatchLease(context.runInterval), token: uuidTail(context.randomBytes(10)) },
    startedAt,
  );
  if (started === null) {
    const dueAt = await deferJob(context.db, job, "submit_rate", startedAt);
    if (dueAt === null) return "superseded";
    context.log({ event: "submit_rate_reached", job: job.id, due_at: dueAt });
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
  const ready = context.now();
  if (ready - startedAt > dispatchLease(context.runInterval) - callTimeout(context.runInterval)) {
    const late = { ...job, dispatchNumber: started.dispatchNumber, status: "dispatching" } as const;
    await postponeJob(context.db, late, LATE, { dispatch: "none", refused: false }, ready, ready);
    return "refused";
  }
  const answer = await submitBatch(context.ai, job.model, requests, context.bounded);
  const dispatched = {
    ...job,
    dispatchNumber: started.dispatchNumber,
    batches: job.batches + 1,
    status: "dispatching" as const,
    members: started.members,
    sent: documents.length,
  };
  if (answer.kind === "refused") {
    await settleRefusal(context, dispatched, answer.refusal);
    return "refused";
  }
  const now = context.now();
  const held = await confirmDispatch(context.db, dispatched, answer.requestId, firstPollAt(now, context.runInterval));
  context.log({
    event: "job_dispatched",
    job: job.id,
    dispatch: started.dispatchNumber,
    submissions: started.members.slice(0, MAX_NAMED).map(([submission]) => submission),
    documents: documents.length,
    request_id: answer.requestId,
    held,
  });
  return held ? "dispatched" : "superseded";
}

/** Ids contain no control characters, so a line break separates the two. */
function memberKey(submission: SubmissionId, document: string): string {
  return `${submission}\n${document}`;
}
