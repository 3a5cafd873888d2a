import { err, ok, uuidTail, type Result, type SubmissionId } from "@sluice/core";
import { PUSH_ALIVE_MS } from "@sluice/pipeline/job/schedule.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { keepAnswer, readIdempotencyKey } from "@sluice/pipeline/submission/sql/read-idempotency-key.ts";
import { readCountedParts, takeOverPush } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import { readSubmission } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { KeyClaim } from "@sluice/pipeline/submission/sql/open-submission.ts";
import type { ApiContext, Reader } from "../context.ts";
import { invalid, type Problem } from "../http/problems.ts";
import type { TakenOver } from "./open-push.ts";

/** A push's key: of the API key that sent it. */
export type PushKey = Omit<KeyClaim, "fingerprint">;

/** How a push under a key is to be taken. */
export type KeyStatus =
  /** Nothing is known under it. */
  | { readonly kind: "new" }
  /** A push with it is under way. */
  | { readonly kind: "running"; readonly retryAfter: number }
  /** A push with it broke off. */
  | { readonly kind: "broken_off"; readonly submission: SubmissionId; readonly fingerprint: string | null }
  | {
      readonly kind: "answered";
      readonly submission: SubmissionId;
      readonly fingerprint: string | null;
      readonly status: number;
      readonly text: string;
    };

/** Seconds after which a caller looks again whether the push under its key is over: soon, since most are. */
export const LOOK_AGAIN = 2;

const RULE = "must have 1 to 255 characters of printable ASCII, from the space to ~";
/** Headers of one name arrive as one, with a comma between. */
const TWO_KEYS =
  'is given more than once, or holds a comma: give one key, and one with a comma as a quoted string, such as "a,b"';

/**
 * The `Idempotency-Key` of a request (IETF draft httpapi-idempotency-key-header): bare, or quoted as
 * the draft has it; both are the same key. `null`: none.
 */
export function readIdempotencyHeader(header: string | null): Result<string | null, Problem> {
  if (header === null) return ok(null);
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header)?.[1];
  if (quoted === undefined && header.includes(",")) return keyProblem(TWO_KEYS);
  return checkIdempotencyKey(quoted === undefined ? header : quoted.replaceAll(/\\(["\\])/g, "$1"));
}

/** A key as it is, without quotes around it. */
export function checkIdempotencyKey(key: string): Result<string, Problem> {
  return /^[\x20-\x7e]{1,255}$/.test(key) ? ok(key) : keyProblem(RULE);
}

function keyProblem(detail: string): Result<never, Problem> {
  return err(invalid([{ pointer: "", detail: `the header Idempotency-Key ${detail}` }]));
}

export async function lookUpKey({ db, databaseTime }: Reader, key: PushKey): Promise<KeyStatus> {
  const row = await readIdempotencyKey(db, key, databaseTime());
  if (row === null) return { kind: "new" };
  const { submission, fingerprint, status, answer, idle } = row;
  if (status !== null && answer !== null) return { kind: "answered", submission, fingerprint, status, text: answer };
  // Activity a minute ahead is of a clock that was wrong: such a push can be taken over.
  if (row.holder !== "" && Math.abs(idle) < PUSH_ALIVE_MS) {
    const staleIn = Math.ceil((PUSH_ALIVE_MS - idle) / 1_000);
    return { kind: "running", retryAfter: Math.max(1, Math.min(LOOK_AGAIN, staleIn)) };
  }
  return { kind: "broken_off", submission, fingerprint };
}

/**
 * Takes over a push that broke off. `null`: another request did so, before this one or since, or the poller closed it
 * as incomplete since.
 */
export async function takeOver(
  { db, databaseTime, random }: Pick<ApiContext, "db" | "databaseTime" | "random">,
  submission: SubmissionId,
): Promise<TakenOver | null> {
  const holder = uuidTail(random(10));
  if (!(await takeOverPush(db, submission, holder, databaseTime()))) return null;
  // Until another request takes the push over, nobody else raises `total`: read first, the parts are among what it counts.
  const counted = await readCountedParts(db, submission);
  const row = await readSubmission(db, submission);
  return row === null || row.holder !== holder || row.incomplete ? null : { row, counted, holder };
}

/** Keeps an answer for replays. Should that fail, the push is answered all the same: repeated, it goes on and skips all. */
export async function keepPushAnswer(
  { db, log }: Pick<ApiContext, "db" | "log">,
  key: PushKey,
  answer: Parameters<typeof keepAnswer>[2],
): Promise<void> {
  try {
    await keepAnswer(db, key, answer);
  } catch (error) {
    log({ event: "answer_not_kept", submission: answer.submission, ...describeError(error) });
  }
}

export function stillRunning(retryAfter: number): Problem {
  return {
    name: "conflict",
    detail:
      "A push with this Idempotency-Key is under way, or broke off without a word. Send the same again in " +
      `${retryAfter} s, and so on: it is told the answer of the first, or goes on with it ${PUSH_ALIVE_MS / 1_000} s after its last sign of life.`,
    headers: { "retry-after": String(retryAfter) },
  };
}

/** For the request that had a push before: it was silent for so long that it counted as broken off. */
export function takenOver(submission: SubmissionId): Problem {
  return {
    name: "conflict",
    detail:
      `This push was taken over by another request with its Idempotency-Key, after ${PUSH_ALIVE_MS / 1_000} s without a sign ` +
      `of life. Nothing of it is lost: send the same again in ${LOOK_AGAIN} s, and it is told that request's answer.`,
    headers: { "retry-after": String(LOOK_AGAIN) },
    members: { submission },
  };
}

export function anotherBody(submission: SubmissionId | null): Problem {
  return {
    name: "idempotency-key-reused",
    detail:
      "The first push with this Idempotency-Key had other options, another content type or another body: other " +
      "documents, another order, or other bytes. Send exactly what was sent first, or use a new key.",
    members: { submission },
  };
}
