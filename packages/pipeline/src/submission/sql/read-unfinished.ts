import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { stagedDocuments } from "./count-lost.ts";

/** The documents of a submission that have not ended, by where they are. */
export interface UnfinishedSubmission {
  readonly submission: SubmissionId;
  /** Recorded in D1. */
  readonly recorded: number;
  /** In D1 as staged parts, and not recorded. */
  readonly staged: number;
  /** In the Queue, as far as anyone knows. */
  readonly queued: number;
}

/** Every submission with documents that have not ended. Reads every submission. */
export async function readUnfinished(db: Database): Promise<UnfinishedSubmission[]> {
  return query(
    db,
    sql`
    SELECT submission, recorded, staged, missing - staged AS queued FROM (
      SELECT id AS submission, recorded - succeeded - failed - canceled AS recorded, total - recorded - lost AS missing,
        min(total - recorded - lost, ${stagedDocuments(sql`submissions.id`)}) AS staged
      FROM submissions WHERE completed_at IS NULL)
    WHERE recorded + missing > 0 ORDER BY submission`,
  );
}
