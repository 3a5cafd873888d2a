import { sql } from "drizzle-orm";
import { IDEMPOTENCY_KEY_LIFE_MS } from "../../job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { type Database, query } from "@sluice/db";

/** What an `Idempotency-Key` stands for. */
export interface IdempotencyKeyRow {
  readonly submission: SubmissionId;
  /** `null`: the body has not come to its end. */
  readonly fingerprint: string | null;
  /** `null`, both: not answered. */
  readonly status: number | null;
  readonly answer: string | null;
  /** Milliseconds since its push last did something. Less than none where a clock was wrong. */
  readonly idle: number;
  /** As in `submissions`. */
  readonly holder: string | null;
}

/** A key that is known and has not expired: two rows. */
export async function readIdempotencyKey(
  db: Database,
  { apiKey, key }: { readonly apiKey: string; readonly key: string },
  now: Time,
): Promise<IdempotencyKeyRow | null> {
  const [row] = await query<IdempotencyKeyRow>(
    db,
    sql`
    SELECT k.submission_id AS submission, k.fingerprint, k.status, k.answer, ${now} - s.active_at AS idle, s.holder
    FROM idempotency_keys k CROSS JOIN submissions s ON s.id = k.submission_id
    WHERE k.api_key = ${apiKey} AND k.key = ${key} AND k.created_at > ${timeAfter(now, -IDEMPOTENCY_KEY_LIFE_MS)}`,
  );
  return row ?? null;
}

/** Keeps what a push was answered, under its key: the first answer stays. */
export async function keepAnswer(
  db: Database,
  { apiKey, key }: { readonly apiKey: string; readonly key: string },
  answer: {
    readonly submission: SubmissionId;
    readonly fingerprint: string;
    readonly status: number;
    readonly text: string;
  },
): Promise<void> {
  await query(
    db,
    sql`
    UPDATE idempotency_keys SET fingerprint = ${answer.fingerprint}, status = ${answer.status}, answer = ${answer.text}
    WHERE api_key = ${apiKey} AND key = ${key} AND submission_id = ${answer.submission} AND answer IS NULL`,
  );
}
