import { cut, halve } from "./split.ts";
import { groupMembers, listMembers, type JobMembers } from "./members.ts";
import { FAILURES, MAX_BATCHES, mintJobId, type FailureCode, type JobId, type ModelName } from "@sluice/core";
import { finalizeJobs } from "../score/sql/finalize-jobs.ts";
import { pauseDispatching } from "./sql/pause-dispatching.ts";
import { postponeJob, type DispatchCount } from "./sql/postpone-job.ts";
import { timesOutWhileOthersDoNot } from "./sql/times-out-while-others-do-not.ts";
import type { Refusal } from "@sluice/inference";
import { afterRefusal, MAX_REFUSALS, mayBeHalved } from "./after-refusal.ts";
import type { Context } from "../platform/context.ts";
import { modelScope } from "./pause-scopes.ts";

/** A job with an open dispatch that was refused. */
interface RefusedDispatch {
  readonly id: JobId;
  readonly model: ModelName;
  readonly dispatchNumber: number;
  /** `dispatching`: the submit was refused. `dispatched`: the poll reported that the batch failed. */
  readonly status: "dispatching" | "dispatched";
  readonly round: number;
  readonly refusals: number;
  /** The maximum, over its documents, of batches that may have been accepted, including the open dispatch's. */
  readonly batches: number;
  /** How often it was halved because its submits timed out. */
  readonly halvings: number;
  /** Its remaining documents. */
  readonly members: JobMembers;
  /** Documents of the batch. More than the remaining ones if some were deleted. */
  readonly sent: number;
}

/** Settles a refusal by its decision, in one guarded write. `reason` is recorded in the job's dispatches. */
export async function settleRefusal(
  context: Context,
  job: RefusedDispatch,
  refusal: Refusal,
  reason: string = refusal.class,
): Promise<void> {
  const documents = listMembers(job.members);
  const now = context.now();
  const dispatch = dispatchCount(job, refusal);
  const accepted = dispatch !== "none";
  const batches = job.batches - (accepted ? 0 : 1);
  const { sent, refusals, halvings } = job;
  const isTimeout = dispatch === "unconfirmed" && refusal.class === "retry";
  const timesOutAlone =
    isTimeout && mayBeHalved({ documentCount: sent, halvings }) && (await timesOutWhileOthersDoNot(context.db, job));
  const decision = afterRefusal(
    { documentCount: sent, refusals, accepted, batches, halvings, timesOutAlone },
    refusal,
    {
      now,
      runInterval: context.runInterval,
      random: context.random(),
    },
  );
  // An accepted batch that ends the job is its last one, not a repeated one.
  const counted = dispatch === "repeated" ? {} : { dispatch };
  const error = { reason, message: refusal.message };
  context.log({
    event: "job_refused",
    job: job.id,
    dispatch: job.dispatchNumber,
    reason,
    code: refusal.code,
    then: decision.kind,
  });
  switch (decision.kind) {
    case "pause": {
      const pause = { scope: modelScope(job.model), message: refusal.message, since: now, until: decision.dueAt };
      await pauseDispatching(context.db, { ...pause, reason: decision.reason });
      context.log({
        event: "model_paused",
        job: job.id,
        dispatch: job.dispatchNumber,
        model: job.model,
        reason: decision.reason,
        code: refusal.code,
        until: decision.dueAt,
      });
      await postponeJob(context.db, job, error, { dispatch, refused: false }, decision.dueAt, now, pause.scope);
      return;
    }
    case "again":
      await postponeJob(context.db, job, error, { dispatch, refused: true }, decision.dueAt, now);
      return;
    case "split":
    case "halve": {
      const pieces = decision.kind === "halve" ? halve(documents) : cut(documents, decision.batchesLeft);
      const children = pieces.map((piece) => ({
        id: mintJobId(now, context.randomBytes(10)),
        round: job.round,
        members: groupMembers(piece),
        dueAt: now,
        halvings: decision.kind === "halve" ? 1 : 0,
      }));
      const end = { status: "split", outcomes: [], children, tokens: null, error, ...counted } as const;
      await finalizeJobs(context.db, [{ job, end }], now);
      return;
    }
    case "fail": {
      const message = failureMessage(decision.code, refusal, batches);
      const outcomes = documents.map((document) => ({ ...document, code: decision.code, message }));
      const end = { status: "failed", outcomes, children: [], tokens: null, error, ...counted } as const;
      await finalizeJobs(context.db, [{ job, end }], now);
    }
  }
}

/** The service's message explains a bad input better than ours. For an unreachable service, ours is clearer. */
function failureMessage(code: FailureCode, refusal: Refusal, batches: number): string {
  if (code !== "no_answer") return refusal.message || FAILURES[code].message;
  const limit =
    batches >= MAX_BATCHES
      ? FAILURES.no_answer.message.slice(0, -1)
      : `Workers AI refused the document ${MAX_REFUSALS} times in a row`;
  return refusal.message === "" ? `${limit}.` : `${limit}; last error: ${refusal.message}`;
}

function dispatchCount(job: RefusedDispatch, refusal: Refusal): DispatchCount {
  if (job.status === "dispatched") return "repeated";
  return refusal.mayBeRunning ? "unconfirmed" : "none";
}
