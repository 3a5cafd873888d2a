import { sql, type SQL } from "drizzle-orm";
import { IDEMPOTENCY_KEY_LIFE, type Lane, type ModelName, type SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { transact } from "../statements.ts";

export interface NewSubmission {
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly label: string | null;
  readonly truncateInputs: boolean;
  /** Documents sent or about to be. */
  readonly total: number;
  /** Whether nothing more will be sent: a push of one part is closed as it is opened, and saves a write. */
  readonly closed: boolean;
}

export interface OpenedSubmission {
  readonly id: SubmissionId;
  /** Milliseconds since the epoch: the time in its id. */
  readonly createdAt: number;
}

/** An `Idempotency-Key` that a push wants for its submission. */
export interface KeyClaim {
  /** The name of the API key that it belongs to. */
  readonly apiKey: string;
  readonly key: string;
  /** `null`: not known before the body's end. */
  readonly fingerprint: string | null;
}

/** Expired keys that each new one takes away, so that they do not pile up. */
const PRUNED_KEYS = 20;

/**
 * Writes a submission's row and mints its id in the same statement: the time in it is this one, or
 * a millisecond past the newest submission's where that is later (clocks apart, two in one
 * millisecond), so that a later submission always has the greater id. `tail` is `uuidTail` of random
 * bytes: the same tail again finds the row that an error hid, and writes none. `now` in milliseconds.
 */
export async function openSubmission(
  db: Database,
  submission: NewSubmission,
  tail: string,
  now: number,
): Promise<OpenedSubmission> {
  const [row] = await transact<OpenedSubmission>(db, [
    insertSubmission(submission, tail, now, sql`NOT EXISTS (SELECT 1 FROM submissions WHERE ${ownRow(tail, now)})`),
    selectOwn(tail, now),
  ]);
  if (row === undefined) throw new Error("a submission's row is gone as soon as it was written");
  return row;
}

/**
 * The same under an `Idempotency-Key`, which is claimed in the same transaction: of two pushes with a
 * new key one is opened. `null`: another push has the key.
 */
export async function openKeyedSubmission(
  db: Database,
  submission: NewSubmission,
  claim: KeyClaim,
  tail: string,
  now: number,
): Promise<OpenedSubmission | null> {
  const expiry = now - IDEMPOTENCY_KEY_LIFE;
  const [row] = await transact<OpenedSubmission>(db, [
    insertSubmission(
      submission,
      tail,
      now,
      sql`
      NOT EXISTS (SELECT 1 FROM submissions WHERE ${ownRow(tail, now)})
      AND NOT EXISTS (SELECT 1 FROM idempotency_keys
        WHERE api_key = ${claim.apiKey} AND key = ${claim.key} AND created_at > ${expiry})`,
    ),
    sql`
      INSERT INTO idempotency_keys (api_key, key, submission_id, fingerprint, created_at)
      SELECT ${claim.apiKey}, ${claim.key}, id, ${claim.fingerprint}, ${now} FROM submissions WHERE ${ownRow(tail, now)}
      ON CONFLICT DO UPDATE SET submission_id = excluded.submission_id, fingerprint = excluded.fingerprint,
        created_at = excluded.created_at, status = NULL, answer = NULL
        WHERE created_at <= ${expiry}`,
    sql`
      DELETE FROM idempotency_keys WHERE (api_key, key) IN (
        SELECT api_key, key FROM idempotency_keys WHERE created_at <= ${expiry} ORDER BY created_at LIMIT ${PRUNED_KEYS})`,
    selectOwn(tail, now),
  ]);
  return row ?? null;
}

function insertSubmission(submission: NewSubmission, tail: string, now: number, guard: SQL): SQL {
  return sql`
    INSERT INTO submissions
      (id, collection, model, lane, label, truncate_inputs, total, created_at, active_at, closed_at)
    SELECT printf('sub_%08x-%04x-', minted >> 16, minted & 65535) || ${tail},
      ${submission.collection}, ${submission.model}, ${submission.lane}, ${submission.label},
      ${submission.truncateInputs ? 1 : 0}, ${submission.total}, minted, minted,
      CASE WHEN ${submission.closed ? 1 : 0} THEN minted END
    FROM (
      SELECT max(CAST(${now} AS INTEGER),
        coalesce((SELECT created_at + 1 FROM submissions ORDER BY id DESC LIMIT 1), 0)) AS minted
    )
    WHERE ${guard}`;
}

/** An id minted now is never less than the time's, so only the newest rows are looked at. */
function ownRow(tail: string, now: number): SQL {
  return sql`id >= ${submissionIdAt(now)} AND substr(id, 19) = ${tail}`;
}

function selectOwn(tail: string, now: number): SQL {
  return sql`SELECT id, created_at AS createdAt FROM submissions WHERE ${ownRow(tail, now)}`;
}

/** No submission of this time or later has an id below this. */
export function submissionIdAt(time: number): string {
  return `sub_${time
    .toString(16)
    .padStart(12, "0")
    .replace(/(.{8})/, "$1-")}`;
}
