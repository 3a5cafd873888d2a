import { cut, groupMembers } from "./job.ts";
import { FAILURES, MAX_BATCHES, mintJobId } from "@sluice/core";
import { deferJob } from "./sql/start-dispatch.ts";
import type { JobEnd } from "./job-end.ts";
import { finalizeJobs } from "../score/sql/finalize-jobs.ts";
import { isPieceOfInvalid } from "./sql/is-piece-of-invalid.ts";
import { readJobDocuments } from "./sql/read-job-documents.ts";
import type { DispatchableJob } from "./dispatch-job.ts";
import type { Context } from "../platform/context.ts";

/**
 * Applies the limit of batches to a job: returns whether it may be dispatched. If its documents have none left, they fail.
 * A piece of an invalid batch that has one left is cut into single documents first: a last batch that is invalid
 * fails all of its documents, and the good ones must not fail with a bad one.
 */
export async function limitBatches(context: Context, job: DispatchableJob): Promise<boolean> {
  if (job.batches < MAX_BATCHES - 1) return true;
  const isUsedUp = job.batches >= MAX_BATCHES;
  if (!isUsedUp && !(await isPieceOfInvalid(context.db, job.id))) return true;
  const now = context.now();
  // Ends what was canceled, and a dispatch whose lease has run out: it is over, and counted as unconfirmed.
  // Who settled that dispatch meanwhile may have taken its batch back.
  if ((await deferJob(context.db, job, null, now)) === null) return false;
  const documents = (await readJobDocuments(context.db, [job])).get(job.id) ?? [];
  const left = documents.filter((document) => document !== null);
  // The others were deleted or canceled: it is alone now, and due at once.
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
    batches: job.batches,
    documents: left.length,
    then: end.status,
    held: ended.has(job.id),
  });
  return false;
}
