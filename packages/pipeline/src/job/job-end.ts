import type { FailureCode, JobId, SubmissionId } from "@sluice/core";
import type { JobMembers } from "./job.ts";
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
 * A job that takes over some documents of one that ends: a follow-up, or a piece. It inherits how many batches they
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
  /** What the open dispatch adds to the job's counts, if that is not one batch that was accepted. */
  readonly dispatch?: Exclude<DispatchCount, "repeated">;
}

/** A job's dispatch that ends, and how. */
export interface EndingJob {
  readonly job: {
    readonly id: JobId;
    readonly dispatchNumber: number;
    /** `pending`: no dispatch is open, and none is changed. */
    readonly status: "pending" | "dispatching" | "dispatched";
  };
  readonly end: JobEnd;
}
