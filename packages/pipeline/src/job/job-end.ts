import type { FailureCode, JobId, SubmissionId } from "@sluice/core";
import type { JobMembers } from "./members.ts";
import type { DispatchCount, DispatchError } from "./sql/postpone-job.ts";
import type { RankedScore } from "../score/rank-scores.ts";

interface OutcomeHead {
  readonly submission: SubmissionId;
  readonly document: string;
}
/** How a document of the job ended. */
export type Outcome =
  | (OutcomeHead & { readonly scores: readonly RankedScore[] })
  | (OutcomeHead & { readonly code: FailureCode; readonly message: string });

/**
 * A follow-up or piece that takes over some documents of a job that ends. It inherits the number of batches that they
 * may have been in.
 */
export interface ChildJob {
  readonly id: JobId;
  readonly round: number;
  readonly members: JobMembers;
  readonly dueAt: number;
  /** Added to the parent's count, which the child inherits; 0 by default. */
  readonly halvings?: number;
}

export interface JobEnd {
  readonly status: "succeeded" | "failed" | "split";
  readonly outcomes: readonly Outcome[];
  /** Each document of the job that has no outcome here is in exactly one of these. */
  readonly children: readonly ChildJob[];
  readonly tokens: number | null;
  readonly error: DispatchError | null;
  /** How the open dispatch counts for the job, unless it is one accepted batch. */
  readonly dispatch?: Exclude<DispatchCount, "repeated">;
}

/** A job's dispatch that ends, with its end. */
export interface EndingJob {
  readonly job: {
    readonly id: JobId;
    readonly dispatchNumber: number;
    /** `pending`: no dispatch is open, so none changes. */
    readonly status: "pending" | "dispatching" | "dispatched";
  };
  readonly end: JobEnd;
}
