import { sql, type SQL } from "drizzle-orm";
import { EVERYTHING, modelScope, SUBMISSION_SCOPE } from "../pause-scopes.ts";
import { NEVER_DUE, RELEASE_SPACING_MS } from "../schedule.ts";
import type { JobId, ModelName, PauseReason, SubmissionId } from "@sluice/core";
import type { Time } from "../../platform/clock.ts";
import { type Database, query, transact } from "@sluice/db";

/** Why something is not dispatched, and until when (milliseconds); `null`: until it is resumed. */
export interface Pause {
  readonly scope: string;
  readonly reason: PauseReason;
  readonly message: string | null;
  readonly since: number;
  readonly until: number | null;
}

/**
 * Pauses a scope, or changes why and until when it is paused. A pause that someone asked for stays one, and
 * keeps its start. Asked for again, it keeps its message too unless there is a new one.
 */
export async function pauseDispatching(db: Database, pause: Pause): Promise<void> {
  await query(
    db,
    sql`
    INSERT INTO pauses (scope, reason, message, since, until)
    VALUES (${pause.scope}, ${pause.reason}, ${pause.message}, ${pause.since}, ${pause.until})
    ON CONFLICT (scope) DO UPDATE SET
      reason = excluded.reason,
      message = iif(pauses.reason = 'requested', coalesce(excluded.message, pauses.message), excluded.message),
      since = iif(pauses.reason <> 'requested' AND excluded.reason = 'requested', excluded.since, pauses.since),
      until = excluded.until
    WHERE pauses.reason <> 'requested' OR excluded.reason = 'requested'`,
  );
}

/**
 * Ends a pause and makes the jobs that it holds due, spread out; touches no other job. Gives the pause that
 * ended; `null`: none was in force, or D1 committed an earlier try whose answer was lost.
 */
export async function resumeDispatching(db: Database, scope: string, now: number): Promise<Pause | null> {
  const [ended] = await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now));
  return ended === undefined || (ended.until !== null && ended.until <= now) ? null : ended;
}

/** The pauses in force. A handful of rows. */
export async function readPauses(db: Database, now: Time): Promise<Pause[]> {
  return query<Pause>(
    db,
    sql`
    SELECT scope, reason, message, since, until FROM pauses WHERE until IS NULL OR until > ${now}`,
  );
}

/**
 * Ends the pauses of submissions that have ended and have no retry, and releases jobs whose pause was deleted by hand.
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
 * Ends the pauses whose time was over before `endedBefore`, in two statements of a transaction. The job
 * whose refusal put up such a pause is due at its end, and puts it up again where the fault lasts: the
 * others are released only once that had its chance. Reads the pauses, and the jobs of those that end.
 */
export function releaseEndedPauses(endedBefore: Time, now: Time): SQL[] {
  return endPauses(sql`SELECT scope FROM pauses WHERE until <= ${endedBefore}`, now);
}

/** Jobs are released with their pause, in one transaction: a job held by a pause that is gone would never be due. */
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

/** What holds a job back: the pause of a scope, or that of the first submission in its list. */
export type Holder = { readonly scope: string } | "first_submission";

/** The scope of the first submission in a job's list. */
export function firstSubmissionScope(members: SQL): SQL {
  return sql`${SUBMISSION_SCOPE} || (${members} ->> '$[0][0]')`;
}

/** Whether a job's list holds documents of a canceled submission. */
export function holdsCanceled(members: SQL): SQL {
  return sql`EXISTS (SELECT 1 FROM json_each(${members}) g
    CROSS JOIN submissions s ON s.id = g.value ->> 0 AND s.cancel_requested_at IS NOT NULL)`;
}

/**
 * What holding a job by the pause of a scope sets: nothing but the end of the pause makes it due before
 * `until`. Where the pause has ended meanwhile, the job is due now; and where its list, `members`, holds documents
 * of a canceled submission: those end at once, and the rest is held then. Without `members` it has none.
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

/** Jobs that one call of `holdPausedJobs` holds at most. */
const MAX_HELD = 5_000;

/** What pauses cover: every job, those of a model, or those that hold documents of these submissions only. */
export type Paused =
  | { readonly kind: "everything" }
  | { readonly kind: "model"; readonly model: ModelName }
  | { readonly kind: "submissions"; readonly submissions: readonly SubmissionId[] };

/**
 * Holds jobs that pauses cover: those of `claimed`, and others that are due. Left out are jobs that need
 * a step of their own: with an open dispatch, or with documents of a canceled submission, which end at once
 * whatever is paused. Gives the jobs that it held. Reads about 15 rows a job of one submission.
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
      // Of several, the first one's: at its end the job is due, and is held by the next.
      return {
        scope: firstSubmissionScope(sql`members`),
        covers: sql`NOT EXISTS (SELECT 1 FROM json_each(j.members) g
          WHERE g.value ->> 0 NOT IN (SELECT value FROM json_each(${JSON.stringify(paused.submissions)})))`,
      };
  }
}
