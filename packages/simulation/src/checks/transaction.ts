import { MAX_RETRIED_DOCUMENTS } from "../limits.ts";
import type { Change } from "./changes.ts";
import { versionKey, type Job, type Submission, type Version, type VersionKey } from "./state.ts";

/** The rows that one transaction touches, checked at its end. */
export class Transaction {
  readonly versions = new Set<Version>();
  readonly submissions = new Set<Submission>();
  readonly jobs = new Set<Job>();
  /** Documents that it deletes, those of them that had ended, and failed documents that it queues again. */
  readonly deleted: ReadonlySet<VersionKey>;
  readonly endedBefore = new Set<VersionKey>();
  readonly retried = new Set<VersionKey>();
  /** Whether it is a step of a collection's deletion. */
  readonly isOfDeletion: boolean;

  /** The finalized sequences of jobs that it ends. */
  readonly sequences: number[] = [];
  /** Whether it is a step of retention. */
  readonly isRetention: boolean;

  constructor(changes: readonly Change[]) {
    this.isRetention = changes.some(([table]) => table === "retention_progress");
    this.isOfDeletion = changes.some(([table]) => table === "collection_deletions");
    this.deleted = new Set(
      changes.flatMap(([table, event, document, , submission]) =>
        table === "documents" && event === "delete" ? [versionKey(String(submission), String(document))] : [],
      ),
    );
  }

  /**
   * Returns the flaw in the number of failed documents it queues again, or `null`. A step is small unless one job is
   * large.
   */
  retriedFlaw(newJobs: readonly Job[]): string | null {
    const roots = new Set(newJobs.map(({ row }) => row.parent_id));
    return roots.size > 1 && this.retried.size > MAX_RETRIED_DOCUMENTS
      ? `a step of a retry queues ${this.retried.size} documents of ${roots.size} jobs`
      : null;
  }
}
