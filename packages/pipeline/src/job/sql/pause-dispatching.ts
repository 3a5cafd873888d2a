import { gt, isNull, or, sql, type SQL } from "drizzle-orm";
import { EVERYTHING, modelScope, SUBMISSION_SCOPE } from "../pause-scopes.ts";
import { NEVER_DUE, RELEASE_SPACING_MS } from "../schedule.ts";
import type { JobId, ModelName, PauseReason, SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { pauses, query, transact, type Database } from "@sluice/db";
import { memberSubmission } from "./members.ts";

/** Why a scope is paused, and until when, in milliseconds; `null` if it lasts until it is resumed. */
export interface Pause {
  readonly scope: string;
  readonly reason: PauseReason;
  readonly message: string | null;
  readonly since: number;
  readonly until: number | null;
}

/**
 * Pauses a scope, or changes the reason and the end of its pause. A pause that a person requested remains one and keeps
 * its start. A repeated request keeps its message unless it brings a new one.
 */
export async function pauseDispatching(db: Database, pause: Pause): Promise<void> {
  const isRequested = sql`${pauses.reason} = 'requested'`;
  await query(
    db,
    db
      .insert(pauses)
      .values(pause)
      .onConflictDoUpdate({
        target: pauses.scope,
        set: {
          reason: sql`excluded.reason`,
          message: sql`iif(${isRequested}, coalesce(excluded.message, ${pauses.message}), excluded.message)`,
          since: sql`iif(NOT ${isRequested} AND excluded.reason = 'requested', excluded.since, ${pauses.since})`,
          until: sql`excluded.until`,
        },
        setWhere: sql`NOT ${isRequested} OR excluded.reason = 'requested'`,
      }),
  );
}

/**
 * Ends a pause and makes the jobs that it holds due, spread out. Other jobs do not change. Returns the pause that
 * ended; `null` if none was in force, or if D1 committed an earlier try whose answer was lost.
 */
export async function resumeDispatching(db: Database, scope: string, now: number): Promise<Pause | null> {
  const [ended] = await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now));
  return ended === undefined || (ended.until !== null && ended.until <= now) ? null : ended;
}

/** The pauses in force. Reads a few rows. */
export async function readPauses(db: Database, now: Time): Promise<Pause[]> {
  return db
    .select()
    .from(pauses)
    .where(or(isNull(pauses.until), gt(pauses.until, now)));
}

/**
 * Ends the pauses of submissions that have ended and have no retry. Releases jobs whose pause was deleted by hand.
 * Reads the pauses, and one job of each scope that holds any.
 */
export async function dropEndedPauses(db: Database, now: number): Promise<void> {
  const ended = sql`
    SELECT p.scope FROM pauses p CROSS JOIN submissions s ON s.id = substr(p.scope, 12)
    WHERE p.scope LIKE 'submission:%' AND s.completed_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM retries WHERE submission_id = s.id)
    UNION ALL
    SELECT scope FROM (
      WITH RECURSIVE holding (scope) AS (
        SELECT min(paused_by) FROM jobs WHERE paused_by IS NOT NULL
        UNION ALL
        SELECT (SELECT min(paused_by) FROM jobs WHERE paused_by IS NOT NULL AND paused_by > scope) FROM holding
        WHERE scope IS NOT NULL)
      SELECT scope FROM holding WHERE scope IS NOT NULL AND scope NOT IN (SELECT scope FROM pauses))`;
  await transact(db, endPauses(ended, now));
}

/**
 * Ends the pauses that expired before `endedBefore`, in two statements of a transaction. The job whose refusal started
 * a pause is due at its end, and starts it again if the fault persists. The other jobs are released only after that job
 * was tried. Reads the pauses, and the jobs of those that end.
 */
export function releaseEndedPauses(endedBefore: Time, now: Time): SQL[] {
  return endPauses(sql`SELECT scope FROM pauses WHERE until <= ${endedBefore}`, now);
}

/** Releases jobs and deletes their pauses in one transaction. A job held by a deleted pause would never be due. */
function endPauses(scopes: SQL, now: Time): SQL[] {
  return [
    sql`
      UPDATE jobs SET paused_by = NULL, due_at = CAST(${now} + released.rank * ${RELEASE_SPACING_MS} AS INTEGER)
      FROM (
        SELECT id, row_number() OVER (PARTITION BY lane ORDER BY created_at, id) - 1 AS rank
        FROM jobs INDEXED BY jobs_paused WHERE paused_by IS NOT NULL AND paused_by IN (${scopes})) released
      WHERE jobs.id = released.id`,
    sql`DELETE FROM pauses WHERE scope IN (${scopes}) RETURNING scope, reason, message, since, until`,
  ];
}

/** The pause that holds a job: that of a scope, or that of the first submission in its list. */
export type Holder = { readonly scope: string } | "first_submission";

/** The scope of the first submission in a job's list. */
export function firstSubmissionScope(members: SQL): SQL {
  return sql`${SUBMISSION_SCOPE} || (${members} ->> '$[0][0]')`;
}

/** Whether a job's list holds documents of a canceled submission. */
export function holdsCanceled(members: SQL): SQL {
  return sql`EXISTS (SELECT 1 FROM json_each(${members}) g
    CROSS JOIN submissions s ON s.id = ${memberSubmission} AND s.cancel_requested_at IS NOT NULL)`;
}

/**
 * The columns that hold a job by the pause of a scope: unless the pause ends, the job is not due before `until`. If the
 * pause has ended already, the job is due now. It is also due now if its list `members` holds documents of a canceled
 * submission, which then end, and the rest is held later. Without `members` the list has none.
 */
export function holdingBy(
  scope: SQL,
  now: number,
  { until = NEVER_DUE, members }: { readonly until?: number; readonly members?: SQL } = {},
): { readonly pausedBy: SQL; readonly dueAt: SQL } {
  const isFree = members === undefined ? sql`` : sql`AND NOT ${holdsCanceled(members)}`;
  const isInForce = sql`(EXISTS (SELECT 1 FROM pauses WHERE scope = ${scope}) ${isFree})`;
  return {
    pausedBy: sql`iif(${isInForce}, ${scope}, NULL)`,
    dueAt: sql`CAST(iif(${isInForce}, ${until}, ${now}) AS INTEGER)`,
  };
}

/** Maximum jobs that one call of `holdPausedJobs` holds. */
const MAX_HELD = 5_000;

/** What pauses cover: every job, the jobs of a model, or the jobs with documents of these submissions only. */
export type Paused =
  | { readonly kind: "everything" }
  | { readonly kind: "model"; readonly model: ModelName }
  | { readonly kind: "submissions"; readonly submissionIds: readonly SubmissionId[] };

/**
 * Holds jobs that pauses cover: those of `claimed`, and others that are due. Leaves out jobs that need a step of their
 * own because they have an open dispatch, or documents of a canceled submission, which end immediately even during a
 * pause. Returns the jobs that it held. Reads about 15 rows per job of one submission.
 */
export async function holdPausedJobs(
  db: Database,
  paused: Paused,
  claimed: readonly JobId[],
  now: number,
): Promise<JobId[]> {
  const { scope, covers } = coverage(paused);
  const rows = await query<{ id: JobId }>(
    db,
    sql`
    UPDATE jobs SET paused_by = ${scope}, due_at = CAST(${NEVER_DUE} AS INTEGER)
    WHERE EXISTS (SELECT 1 FROM pauses WHERE scope = ${scope}) AND id IN (
      SELECT j.id FROM (
        SELECT value AS id FROM json_each(${JSON.stringify(claimed)})
        UNION
        SELECT id FROM jobs INDEXED BY jobs_due
        WHERE lane IN ('interactive', 'bulk') AND (status = 'dispatched') = 0 AND due_at IS NOT NULL AND due_at <= ${now}
        LIMIT ${MAX_HELD}) due
      CROSS JOIN jobs j ON j.id = due.id
      WHERE j.status = 'pending' AND ${covers}
        AND NOT ${holdsCanceled(sql`j.members`)})
    RETURNING id`,
  );
  return rows.map(({ id }) => id);
}

/** The scope that holds a job of `jobs`, and whether the job `j` is covered. */
function coverage(paused: Paused): { readonly scope: SQL; readonly covers: SQL } {
  switch (paused.kind) {
    case "everything":
      return { scope: sql`${EVERYTHING}`, covers: sql`true` };
    case "model":
      return { scope: sql`${modelScope(paused.model)}`, covers: sql`j.model = ${paused.model}` };
    case "submissions":
      // If several submissions are paused, the first one's: when it ends, the job is due, and the next one holds it.
      return {
        scope: firstSubmissionScope(sql`members`),
        covers: sql`NOT EXISTS (SELECT 1 FROM json_each(j.members) g
          WHERE ${memberSubmission} NOT IN (SELECT value FROM json_each(${JSON.stringify(paused.submissionIds)})))`,
      };
  }
}
