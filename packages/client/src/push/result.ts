import type { RejectedLine, Submission } from "../types.ts";

export interface PushResult {
  /**
   * One submission, or several if the push did not fit in one request. A repeated push returns each as it was first
   * answered.
   */
  readonly submissions: readonly Submission[];
  readonly accepted: number;
  readonly rejectedCount: number;
  /** Numbered from 1 over all documents pushed: the first 100 of each request. */
  readonly rejected: readonly RejectedLine[];
  /** How many of the accepted documents came from an earlier push with the same key. */
  readonly alreadyThere: number;
  readonly idempotencyKey: string;
}
