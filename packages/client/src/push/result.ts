import type { RejectedLine, Submission } from "../types.ts";

export interface PushResult {
  /** One, but for pushes too big for a request; each as it was answered, which for a repeated push was then. */
  readonly submissions: readonly Submission[];
  readonly accepted: number;
  readonly rejectedCount: number;
  /** Counted from 1 over all documents pushed: the first 100 of each request. */
  readonly rejected: readonly RejectedLine[];
  /** Of the accepted: how many an earlier push under the same key had brought in. */
  readonly alreadyThere: number;
  readonly idempotencyKey: string;
}
