import { and, eq, gt, isNull, sql } from "drizzle-orm";
import { IDEMPOTENCY_KEY_LIFE_MS } from "../lifetimes.ts";
import type { SubmissionId } from "@sluice/core";
import { timeAfter, type Time } from "../../platform/clock.ts";
import { idempotencyKeys, query, submissions, type Database } from "@sluice/db";

/** A push under an `Idempotency-Key`. */
export interface IdempotencyKeyRow {
  readonly submission: SubmissionId;
  /** `null`: the body has not been read to its end. */
  readonly fingerprint: string | null;
  /** Both are `null` if it was not answered. */
  readonly status: number | null;
  readonly answer: string | null;
  /** Milliseconds since the last activity of its push. Negative if a clock was wrong. */
  readonly idle: number;
  /** As in `submissions`. */
  readonly holder: string | null;
}

/** Reads a key that has not expired: two rows. */
export async function readIdempotencyKey(
  db: Database,
  { apiKey, key }: { readonly apiKey: string; readonly key: string },
  now: Time,
): Promise<IdempotencyKeyRow | null> {
  const { submissionId, fingerprint, status, answer, createdAt } = idempotencyKeys;
  const [row] = await db
    .select({
      submission: submissionId,
      fingerprint,
      status,
      answer,
      idle: sql<number>`${now} - ${submissions.activeAt}`,
      holder: submissions.holder,
    })
    .from(idempotencyKeys)
    .innerJoin(submissions, eq(submissions.id, submissionId))
    .where(and(isKey(apiKey, key), gt(createdAt, timeAfter(now, -IDEMPOTENCY_KEY_LIFE_MS))));
  return row ?? null;
}

/** Stores the answer to a push under its key. The first answer stays. */
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
    db
      .update(idempotencyKeys)
      .set({ fingerprint: answer.fingerprint, status: answer.status, answer: answer.text })
      .where(
        and(isKey(apiKey, key), eq(idempotencyKeys.submissionId, answer.submission), isNull(idempotencyKeys.answer)),
      ),
  );
}

function isKey(apiKey: string, key: string) {
  return and(eq(idempotencyKeys.apiKey, apiKey), eq(idempotencyKeys.key, key));
}
