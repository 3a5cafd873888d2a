import { sql } from "drizzle-orm";
import type { Lane } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/** The sums of the counters of submissions. */
export interface SummedCounts {
  readonly total: number;
  readonly recorded: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  readonly lost: number;
}

const LIVE_COLUMNS = sql.raw(
  "lane, label, collection, total, recorded, succeeded, failed, canceled, lost, created_at, completed_at, id",
);
/** The `LIMIT` that is none. */
const ALL = -1;
/** Submissions that are not in `totals`: those of the last minutes, and open ones; the oldest `limit` of each. */
const live = (limit: number) => sql`
  SELECT * FROM (SELECT ${LIVE_COLUMNS} FROM submissions
    WHERE id > (SELECT coalesce(max(submissions_through), '') FROM folds) ORDER BY id LIMIT ${limit})
  UNION ALL
  SELECT ${LIVE_COLUMNS} FROM submissions
    WHERE id IN (SELECT submission_id FROM unfolded_submissions ORDER BY submission_id LIMIT ${limit})`;
const sums = sql.raw(
  "sum(total) AS total, sum(recorded) AS recorded, sum(succeeded) AS succeeded, sum(failed) AS failed, sum(canceled) AS canceled, sum(lost) AS lost",
);
/** All documents in `totals` are recorded, and none are lost. */
const rolledUpCounts = sql.raw("total, total AS recorded, succeeded, failed, canceled, 0 AS lost");

export type LaneTotals = SummedCounts & { readonly lane: Lane; readonly oldestOpenAt: number | null };

/** Counts documents by lane. Reads open and new submissions, `limit` of each at most, and not ended ones. */
export async function readLaneTotals(db: Database, limit = ALL): Promise<LaneTotals[]> {
  return query<LaneTotals>(
    db,
    sql`
    SELECT lane, ${sums}, min(oldest) AS oldestOpenAt FROM (
      SELECT name AS lane, ${rolledUpCounts}, NULL AS oldest FROM totals WHERE kind = 'lane'
      UNION ALL
      SELECT lane, total, recorded, succeeded, failed, canceled, lost, iif(completed_at IS NULL, created_at, NULL) FROM (${live(limit)}))
    GROUP BY lane`,
  );
}

export type LabelTotals = SummedCounts & { readonly collection: string };

/** Counts the documents of a label's submissions by collection. Reads its open and new submissions, not ended ones. */
export async function readLabelTotals(db: Database, label: string): Promise<LabelTotals[]> {
  const own = sql`label = ${label} AND label IS NOT NULL`;
  return query<LabelTotals>(
    db,
    sql`
    SELECT collection, ${sums} FROM (
      SELECT collection, ${rolledUpCounts} FROM totals WHERE kind = 'label' AND name = ${label}
      UNION ALL
      SELECT collection, total, recorded, succeeded, failed, canceled, lost FROM submissions INDEXED BY submissions_label
        WHERE ${own} AND id > (SELECT coalesce(max(submissions_through), '') FROM folds)
      UNION ALL
      SELECT s.collection, s.total, s.recorded, s.succeeded, s.failed, s.canceled, s.lost FROM unfolded_submissions u
        CROSS JOIN submissions s ON s.id = u.submission_id WHERE s.label = ${label})
    GROUP BY collection`,
  );
}

/**
 * Counts failed documents by code, without those whose message was lost. Reads those of open and new submissions,
 * `limit` at most.
 */
export async function readFailureTotals(
  db: Database,
  limit = ALL,
): Promise<{ readonly code: string; readonly count: number }[]> {
  return query(
    db,
    sql`
    SELECT code, sum(count) AS count FROM (
      SELECT name AS code, total AS count FROM totals WHERE kind = 'code'
      UNION ALL
      SELECT * FROM (SELECT o.code, 1 FROM (SELECT id FROM (${live(limit)}) WHERE failed > 0) s
        CROSS JOIN outcomes o INDEXED BY outcomes_failed ON o.submission_id = s.id AND o.status = 'failed'
        LIMIT ${limit}))
    GROUP BY code HAVING sum(count) > 0`,
  );
}

export interface JobTotals {
  /** Ended jobs. */
  readonly ended: number;
  readonly open: number;
  readonly tokens: number;
  readonly unconfirmed: number;
  readonly repeated: number;
}

/**
 * Sums the usage of all jobs and counts the open ones. Reads the open jobs and those that ended in the last minutes.
 */
export async function readJobTotals(db: Database): Promise<JobTotals> {
  const [row] = await query<JobTotals>(
    db,
    sql`
    SELECT coalesce(sum(ended), 0) AS ended, coalesce(sum(open), 0) AS open, coalesce(sum(tokens), 0) AS tokens,
      coalesce(sum(unconfirmed), 0) AS unconfirmed, coalesce(sum(repeated), 0) AS repeated
    FROM (
      SELECT total AS ended, 0 AS open, tokens, unconfirmed_dispatches AS unconfirmed, repeated_dispatches AS repeated
        FROM totals WHERE kind = 'jobs'
      UNION ALL
      SELECT 1, 0, coalesce(tokens, 0), unconfirmed_dispatches, repeated_dispatches FROM jobs INDEXED BY jobs_finalized
        WHERE finalized_sequence > (SELECT coalesce(max(jobs_through), 0) FROM folds) AND finalized_sequence IS NOT NULL
      UNION ALL
      SELECT 0, 1, 0, unconfirmed_dispatches, repeated_dispatches FROM jobs INDEXED BY jobs_due WHERE due_at IS NOT NULL)`,
  );
  return row ?? { ended: 0, open: 0, tokens: 0, unconfirmed: 0, repeated: 0 };
}

export type EndedJobs = Omit<JobTotals, "open">;

/**
 * Sums the usage of ended jobs. Reads those that are not in `totals` in the order in which they ended, `limit` at most:
 * a sum may lag, but never falls.
 */
export async function readEndedJobs(db: Database, limit: number): Promise<EndedJobs> {
  const [row] = await query<EndedJobs>(
    db,
    sql`
    SELECT coalesce(sum(ended), 0) AS ended, coalesce(sum(tokens), 0) AS tokens,
      coalesce(sum(unconfirmed), 0) AS unconfirmed, coalesce(sum(repeated), 0) AS repeated
    FROM (
      SELECT total AS ended, tokens, unconfirmed_dispatches AS unconfirmed, repeated_dispatches AS repeated
        FROM totals WHERE kind = 'jobs'
      UNION ALL
      SELECT * FROM (
        SELECT 1, coalesce(tokens, 0), unconfirmed_dispatches, repeated_dispatches FROM jobs INDEXED BY jobs_finalized
        WHERE finalized_sequence > (SELECT coalesce(max(jobs_through), 0) FROM folds) AND finalized_sequence IS NOT NULL
        ORDER BY finalized_sequence LIMIT ${limit}))`,
  );
  return row ?? { ended: 0, tokens: 0, unconfirmed: 0, repeated: 0 };
}

/** Maximum jobs read to compute a throughput: more than end in an hour (90 per poller run). */
const LAST_JOBS = 6_000;

/**
 * Counts, for each of these times, the documents whose jobs ended then or later. Reads the jobs that ended last, at
 * most 6,000.
 */
export async function countEndedSince(db: Database, times: readonly number[]): Promise<number[]> {
  const first = Math.min(...times);
  const rows = await query<{ endedAt: number; documents: number }>(
    db,
    sql`
    SELECT j.ended_at AS endedAt, j.document_count - coalesce((
        SELECT sum(c.document_count) FROM jobs c WHERE c.parent_id = j.id AND c.created_at = j.ended_at), 0) AS documents
    FROM jobs j INDEXED BY jobs_finalized
    WHERE j.finalized_sequence > (SELECT max(finalized_sequence) FROM jobs WHERE finalized_sequence IS NOT NULL) - ${LAST_JOBS}
      AND j.finalized_sequence IS NOT NULL AND j.ended_at >= ${first} AND j.status <> 'split'`,
  );
  return times.map((time) =>
    rows.filter((row) => row.endedAt >= time).reduce((sum, row) => sum + Math.max(0, row.documents), 0),
  );
}
