import { cut } from "./split.ts";
import { groupMembers } from "./members.ts";
import { FAILURES, MAX_BATCHES, mintJobId } from "@sluice/core";
import { deferJob } from "./sql/start-dispatch.ts";
import type { JobEnd } from "./job-end.ts";
import { finalizeJobs } from "../score/sql/finalize-jobs.ts";
import { isPieceOfInvalid } from "./sql/is-piece-of-invalid.ts";
import { readJobDocuments } from "./sql/read-job-documents.ts";
import type { DispatchableJob } from "./dispatch-job.ts";
import type { Context } from "../platform/context.ts";

/**
 * Applies the limit of batches to a job. Returns whether it may be dispatched. If its documents have none left, they fail. A piece of
 * an invalid batch with one batch left is first split into single documents: if the last batch is invalid, all of its
 * documents fail, and good ones must not fail with a bad one.
 */
export async function limitBatches(context: Context, job: DispatchableJob): Promise<boolean> {
  if (job.batches < MAX_BATCHES - 1) return true;
  const isUsedUp = job.batches >= MAX_BATCHES;
  if (!isUsedUp && !(await isPieceOfInvalid(context.db, job.id))) return true;
  const now = context.now();
  // Ends canceled documents, and a dispatch whose lease has expired, which counts as unconfirmed.
  // If another Worker settled that dispatch, it may have uncounted the batch.
  if ((await deferJob(context.db, job, null, now)) === null) return false;
  const documents = (await readJobDocuments(context.db, [job])).get(job.id) ?? [];
  const left = documents.filter((document) => document !== null);
  // The others were deleted or canceled. The last one is alone, so its job is due now.
  if (!isUsedUp && left.length < 2) return false;
  const end: JobEnd = isUsedUp
    ? {
        status: "failed",
        outcomes: left.map((one) => ({ ...one, code: "no_answer", message: FAILURES.no_answer.message })),
        children: [],
        tokens: null,
        error: null,
      }
    : {
        status: "split",
        outcomes: [],
        children: cut(left, 1).map((piece) => ({
          id: mintJobId(now, context.randomBytes(10)),
          round: job.round,
          members: groupMembers(piece),
          dueAt: now,
        })),
        tokens: null,
        error: null,
      };
  const ended = await finalizeJobs(context.db, [{ job: { ...job, status: "pending" }, end }], now);
  context.log({
    event: "batches_used_up",
    job: job.id,
    dispatch: job.dispatchNumber,
    batches: job.batches,
    documents: left.length,
    then: end.status,
    held: ended.has(job.id),
  });
  return false;
}
