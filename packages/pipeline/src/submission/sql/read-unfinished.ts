import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { stagedDocuments } from "./count-lost.ts";

/** The unfinished documents of a submission, by where they are. */
export interface UnfinishedSubmission {
  readonly submission: SubmissionId;
  /** Recorded in D1. */
  readonly recorded: number;
  /** In D1 as staged parts, not recorded. */
  readonly staged: number;
  /** Neither recorded nor staged, so presumably in the Queue. */
  readonly queued: number;
}

/** Lists every submission with unfinished documents. Reads every submission. */
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
