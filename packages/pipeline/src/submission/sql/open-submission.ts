import { sql, type SQL } from "drizzle-orm";
import { IDEMPOTENCY_KEY_LIFE_MS } from "../lifetimes.ts";
import type { Lane, ModelName, SubmissionId } from "@sluice/core";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { lacksRoom, type NeededRoom } from "../../platform/sql/database-size.ts";
import { highWaterMark } from "../../platform/sql/high-water-marks.ts";
import { type Database, transactTries } from "@sluice/db";

export interface NewSubmission {
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly label: string | null;
  readonly truncateInputs: boolean;
  /** Documents sent, or about to be sent. */
  readonly total: number;
  /** Whether nothing more will be sent. A push of one part is closed when it is opened, which saves a write. */
  readonly closed: boolean;
}

export interface OpenedSubmission {
  readonly id: SubmissionId;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** An `Idempotency-Key` that a push claims for its submission. */
export interface KeyClaim {
  /** The name of its API key. */
  readonly apiKey: string;
  readonly key: string;
  /** `null` if it is unknown until the end of the body. */
  readonly fingerprint: string | null;
}

/** Expired keys that each new key deletes, so that they do not accumulate. */
const PRUNED_KEYS = 20;

/**
 * The owner of the keys that repeated tries without an `Idempotency-Key` claim, each its token. No API key has an empty
 * name. If D1 runs a try late, when other submissions are the newest, the key shows that a later try succeeded.
 */
export const NOBODY = "";

/**
 * Writes a submission's row and mints its id in the same statement. The id is made from `now` and `token`, or is the
 * newest submission's id plus one if that is greater (D1's clock was set back, or two in one millisecond), so a later
 * submission always has the greater id, even if the newest one was deleted. `token` is `uuidTail` of random bytes: by it,
 * a repeated try finds a row that an error hid, and writes none. `full`: the database lacks room, and nothing is written.
 * Reads three rows. A repeated try reads the rows opened since the first. Ids ahead of the clock cost no reads.
 */
export async function openSubmission(
  db: Database,
  submission: NewSubmission,
  token: string,
  now: Time,
  needed: NeededRoom = UNKNOWN_ROOM,
): Promise<OpenedSubmission | "full"> {
  const row = await open(db, submission, null, token, now, needed);
  if (row === null) throw new Error("the row of a new submission is missing");
  return row;
}

/**
 * Opens a submission under an `Idempotency-Key`, which is claimed in the same transaction: of two pushes with a new
 * key, one is opened. Returns `null` if another push has the key, and `full` if the database lacks room.
 */
export async function openKeyedSubmission(
  db: Database,
  submission: NewSubmission,
  claim: KeyClaim,
  token: string,
  now: Time,
  needed: NeededRoom = UNKNOWN_ROOM,
): Promise<OpenedSubmission | "full" | null> {
  return open(db, submission, claim, token, now, needed);
}

/** For a push of which nothing is known: it needs room for its row. */
const UNKNOWN_ROOM: NeededRoom = { bytes: 0, known: null };

async function open(
  db: Database,
  submission: NewSubmission,
  claim: KeyClaim | null,
  token: string,
  now: Time,
  needed: NeededRoom,
): Promise<OpenedSubmission | "full" | null> {
  const { apiKey, key, fingerprint } = claim ?? { apiKey: NOBODY, key: token, fingerprint: null };
  const expiry = timeAfter(now, -IDEMPOTENCY_KEY_LIFE_MS);
  const [row] = await transactTries<OpenedSubmission>(db, (elapsed) => {
    const own = ownRow(token, now, elapsed);
    const isKeyFree = sql`
      NOT EXISTS (SELECT 1 FROM idempotency_keys
        WHERE api_key = ${apiKey} AND key = ${key} AND created_at > ${expiry})`;
    const guard = sql`NOT EXISTS (${own}) AND ${isKeyFree} AND NOT ${lacksRoom(needed)}`;
    const insert = insertSubmission(submission, token, now, guard);
    const opened = sql`
      SELECT * FROM (${own}) UNION ALL SELECT '', 0 WHERE ${isKeyFree} AND ${lacksRoom(needed)} LIMIT 1`;
    if (claim === null && elapsed === null) return [insert, opened];
    return [
      insert,
      sql`
        INSERT INTO idempotency_keys (api_key, key, submission_id, fingerprint, created_at)
        SELECT ${apiKey}, ${key}, id, ${fingerprint}, createdAt FROM (${own}) WHERE true
        ON CONFLICT DO UPDATE SET submission_id = excluded.submission_id, fingerprint = excluded.fingerprint,
          created_at = excluded.created_at, status = NULL, answer = NULL
          WHERE created_at <= ${expiry}`,
      sql`
        DELETE FROM idempotency_keys WHERE (api_key, key) IN (
          SELECT api_key, key FROM idempotency_keys WHERE created_at <= ${expiry} ORDER BY created_at LIMIT ${PRUNED_KEYS})`,
      opened,
    ];
  });
  if (row === undefined) return null;
  return row.id.length > 0 ? row : "full";
}

function insertSubmission(submission: NewSubmission, token: string, now: Time, guard: SQL): SQL {
  return sql`
    INSERT INTO submissions
      (id, collection, model, lane, label, truncate_inputs, total, created_at, active_at, closed_at, opened_by)
    SELECT iif(fresh > newest, fresh, ${idAfter(sql`newest`, token)}),
      ${submission.collection}, ${submission.model}, ${submission.lane}, ${submission.label},
      ${submission.truncateInputs ? 1 : 0}, ${submission.total}, now, now,
      CASE WHEN ${submission.closed ? 1 : 0} THEN now END, ${token}
    FROM (
      SELECT now, printf('sub_%08x-%04x-', now >> 16, now & 65535) || ${token} AS fresh,
        max(coalesce((SELECT id FROM submissions ORDER BY id DESC LIMIT 1), ''), ${highWaterMark("submission_id")}) AS newest
      FROM (SELECT CAST(${now} AS INTEGER) AS now)
      -- Evaluated once: without a limit, SQLite looks up the newest id for each mention of it.
      LIMIT 1
    )
    WHERE ${guard}`;
}

/** Hexadecimal digits of an id's last group: 48 random bits. */
const LOW_DIGITS = 12;

/**
 * The id after another: its low 48 bits plus one. If they are all ones, the id is its time plus one millisecond,
 * followed by `token`.
 */
function idAfter(id: SQL, token: string): SQL {
  const low = sql`substr(${id}, -${sql.raw(String(LOW_DIGITS))})`;
  const time = sql`substr(${id}, 5, 8) || substr(${id}, 14, 4)`;
  const later = hexAfter(time, 12);
  return sql`iif(${low} = 'ffffffffffff',
    'sub_' || substr(${later}, 1, 8) || '-' || substr(${later}, 9) || '-' || ${token},
    substr(${id}, 1, length(${id}) - ${sql.raw(String(LOW_DIGITS))}) || ${hexAfter(low, LOW_DIGITS)})`;
}

/**
 * A hexadecimal number of `digits` digits plus one. Not all digits may be `f`. SQLite cannot parse hexadecimal text.
 */
function hexAfter(number: SQL, digits: number): SQL {
  const kept = sql`rtrim(${number}, 'f')`;
  return sql`(substr(${kept}, 1, length(${kept}) - 1)
    || substr('123456789abcdef', instr('0123456789abcde', substr(${kept}, -1)), 1)
    || substr('000000000000', 1, ${sql.raw(String(digits))} - length(${kept})))`;
}

/**
 * Milliseconds by which D1 may run a try late: stalls of 80 s are reported, and the clocks may drift in the meantime.
 */
const TRY_SLACK_MS = 120_000;

/**
 * The row that a try with `token` wrote: the newest one or, `elapsed` milliseconds after the first try, one of those
 * opened since.
 */
function ownRow(token: string, now: Time, elapsed: number | null): SQL {
  const columns = sql.raw("id, created_at, opened_by");
  const newest = sql`SELECT ${columns} FROM submissions ORDER BY id DESC LIMIT 1`;
  const recent =
    elapsed === null
      ? newest
      : sql`
        WITH RECURSIVE recent AS (
          SELECT * FROM (${newest})
          UNION ALL
          SELECT s.id, s.created_at, s.opened_by FROM recent r CROSS JOIN submissions s
            ON s.id = (SELECT id FROM submissions WHERE id < r.id ORDER BY id DESC LIMIT 1)
          WHERE r.opened_by IS NOT ${token}
            AND r.created_at BETWEEN ${timeAfter(now, -elapsed - TRY_SLACK_MS)} AND ${timeAfter(now, TRY_SLACK_MS)})
        SELECT * FROM recent`;
  return sql`SELECT id, created_at AS createdAt FROM (${recent}) WHERE opened_by = ${token}`;
}

/** A lower bound for the ids of submissions opened at this time or later. */
export function submissionIdAt(time: number): string {
  return `sub_${time
    .toString(16)
    .padStart(12, "0")
    .replace(/(.{8})/, "$1-")}`;
}
