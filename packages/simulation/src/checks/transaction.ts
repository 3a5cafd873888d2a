import type { Change } from "./changes.ts";
import { versionKey, type Job, type Submission, type Version, type VersionKey } from "./state.ts";

/** What one transaction touches: checked at its end. */
export class Transaction {
  readonly versions = new Set<Version>();
  readonly submissions = new Set<Submission>();
  readonly jobs = new Set<Job>();
  /** Documents that it deletes, those of them that had ended, and failed ones that it queues again. */
  readonly deleted: ReadonlySet<VersionKey>;
  readonly endedBefore = new Set<VersionKey>();
  readonly retried = new Set<VersionKey>();

  constructor(changes: readonly Change[]) {
    this.deleted = new Set(
      changes.flatMap(([table, event, document, , submission]) =>
        table === "documents" && event === "delete" ? [versionKey(String(submission), String(document))] : [],
      ),
    );
  }
}
