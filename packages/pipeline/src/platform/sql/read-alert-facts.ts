import { sql, type SQL } from "drizzle-orm";
import { lanes, MAX_BATCHES } from "@sluice/core";
import { type Database, transactAll } from "@sluice/db";
import { NEVER_DUE } from "../../job/schedule.ts";
import { stalledSubmissions, type Stalled } from "../../submission/sql/count-stalled.ts";
import { stuckTimes, type AlertFacts } from "../alert-rules.ts";

/** Maximum rows of each kind that are read. An alert needs one of them. */
const MAX_READ = 100;
/** A job is stuck if this many of its dispatches brought no answer. */
const MAX_UNANSWERED = 3;

/**
 * Reads what alerts are decided from, in one transaction. Reads 100 rows of each kind at most: raised alerts, pauses,
 * watched submissions, quarantined messages, and jobs of each lane that wait longest for their next poll or dispatch.
 */
export async function readAlertFacts(db: Database, now: number, stuckAfter: number): Promise<AlertFacts> {
  const [raised, faults, [stalled], [quarantined], [stuck], [size]] = (await transactAll<unknown>(db, [
    sql`SELECT name, since FROM alerts ORDER BY name LIMIT ${MAX_READ}`,
    // A pause is there until a job was tried again after its end.
    sql`SELECT scope, since FROM pauses WHERE reason = 'configuration' ORDER BY scope LIMIT ${MAX_READ}`,
    stalledSubmissions(now, MAX_READ),
    sql`
      SELECT count(*) AS count, min(received_at) AS since
      FROM (SELECT received_at FROM malformed_messages LIMIT ${MAX_READ})`,
    stuckJobs(now, stuckAfter),
    sql`SELECT level, since, bytes, limit_bytes AS "limit" FROM database_size LIMIT 1`,
  ])) as Results;
  return {
    raised,
    faults,
    stalled: { count: stalled.submissions, documents: stalled.documents, since: stalled.since },
    quarantined,
    stuck,
    size: size ?? null,
  };
}

/** The rows of each statement. */
type Results = [
  AlertFacts["raised"],
  AlertFacts["faults"],
  [Stalled],
  [AlertFacts["quarantined"]],
  [AlertFacts["stuck"]],
  [] | [NonNullable<AlertFacts["size"]>],
];

/**
 * Jobs whose batch has no answer for too long, or several of whose batches had none, and those that lately ended
 * without. The longer a job waits for an answer, the later it is polled next.
 */
function stuckJobs(now: number, stuckAfter: number): SQL {
  const { before, unansweredFrom } = stuckTimes(now, stuckAfter);
  const last = (lane: string, isDispatched: 0 | 1) => sql`
    SELECT * FROM (SELECT status, dispatched_at, created_at, unconfirmed_dispatches + repeated_dispatches AS unanswered
      FROM jobs INDEXED BY jobs_due
      WHERE lane = ${lane} AND (status = 'dispatched') = ${sql.raw(String(isDispatched))} AND due_at IS NOT NULL
        AND due_at < ${NEVER_DUE}
      ORDER BY due_at DESC LIMIT ${MAX_READ})`;
  const open = lanes.flatMap((lane) => [last(lane, 0), last(lane, 1)]);
  return sql`
    SELECT count(*) AS count, min(since) AS since FROM (
      SELECT iif(unanswered >= ${MAX_UNANSWERED}, created_at, dispatched_at) AS since
      FROM (${sql.join(open, sql` UNION ALL `)})
      WHERE unanswered >= ${MAX_UNANSWERED} OR (status = 'dispatched' AND dispatched_at < ${before})
      UNION ALL
      SELECT ended_at FROM (
        SELECT status, batches, ended_at FROM jobs INDEXED BY jobs_finalized WHERE finalized_sequence IS NOT NULL
        ORDER BY finalized_sequence DESC LIMIT ${MAX_READ})
      WHERE status = 'failed' AND batches >= ${MAX_BATCHES} AND ended_at BETWEEN ${unansweredFrom} AND ${now})`;
}
