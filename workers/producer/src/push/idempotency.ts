import { err, ok, uuidTail, type Result, type SubmissionId } from "@sluice/core";
import { PUSH_ALIVE_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { keepAnswer, readIdempotencyKey } from "@sluice/pipeline/submission/sql/read-idempotency-key.ts";
import { readCountedParts, takeOverPush } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import { readSubmission } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { KeyClaim } from "@sluice/pipeline/submission/sql/open-submission.ts";
import type { ApiContext, Reader } from "../context.ts";
import { invalid, type Problem } from "../http/problems.ts";
import type { TakenOver } from "./open-push.ts";

/** The `Idempotency-Key` of a push. It belongs to the API key that sent it. */
export type PushKey = Omit<KeyClaim, "fingerprint">;

/** What is known about the earlier push with a key. */
export type KeyStatus =
  /** There was none. */
  | { readonly kind: "new" }
  /** It is running, or was interrupted only recently. */
  | { readonly kind: "running"; readonly retryAfter: number }
  /** It was interrupted. */
  | { readonly kind: "interrupted"; readonly submission: SubmissionId; readonly fingerprint: string | null }
  | {
      readonly kind: "answered";
      readonly submission: SubmissionId;
      readonly fingerprint: string | null;
      readonly status: number;
      readonly text: string;
    };

/** After this time a caller should repeat a push whose key is in use: most pushes end soon. */
export const RETRY_AFTER_SECONDS = 2;

const RULE = "must have 1 to 255 characters of printable ASCII, from the space to ~";
/** Repeated headers arrive as one, with a comma between their values. */
const TWO_KEYS =
  'is given more than once, or has a comma: give one key, and quote a key that has a comma, such as "a,b"';

/**
 * The `Idempotency-Key` of a request (IETF draft httpapi-idempotency-key-header), bare or quoted as in the draft; both are
 * the same key. `null`: none.
 */
export function readIdempotencyHeader(header: string | null): Result<string | null, Problem> {
  if (header === null) return ok(null);
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header)?.[1];
  if (quoted === undefined && header.includes(",")) return keyProblem(TWO_KEYS);
  return checkIdempotencyKey(quoted === undefined ? header : quoted.replaceAll(/\\(["\\])/g, "$1"));
}

/** A key without quotes around it. */
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
  // Activity more than a minute ahead was written while D1's clock was wrong: such a push can be taken over.
  if (row.holder !== "" && Math.abs(idle) < PUSH_ALIVE_MS) {
    const staleIn = Math.ceil((PUSH_ALIVE_MS - idle) / 1_000);
    return { kind: "running", retryAfter: Math.max(1, Math.min(RETRY_AFTER_SECONDS, staleIn)) };
  }
  return { kind: "interrupted", submission, fingerprint };
}

/**
 * Takes over an interrupted push. `null`: another request did so, before this one or since, or the poller has closed it as
 * incomplete since.
 */
export async function takeOver(
  { db, databaseTime, random }: Pick<ApiContext, "db" | "databaseTime" | "random">,
  submission: SubmissionId,
): Promise<TakenOver | null> {
  const holder = uuidTail(random(10));
  if (!(await takeOverPush(db, submission, holder, databaseTime()))) return null;
  // Nobody else raises `total` until another request takes the push over. The parts are read first, so that it counts them.
  const counted = await readCountedParts(db, submission);
  const row = await readSubmission(db, submission);
  return row === null || row.holder !== holder || row.incomplete ? null : { row, counted, holder };
}

/** Keeps an answer for replays. If that fails, the push is answered anyway: repeated, it resumes and skips every part. */
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
      "A push with this Idempotency-Key is still running or was interrupted. Repeat the same push every " +
      `${retryAfter} s: it gets the answer of the first one, or resumes it after ${PUSH_ALIVE_MS / 1_000} s of inactivity.`,
    headers: { "retry-after": String(retryAfter) },
  };
}

/** For the request that had the push before: it was inactive for so long that it counted as interrupted. */
export function takenOver(submission: SubmissionId): Problem {
  return {
    name: "conflict",
    detail:
      `Another request with the same Idempotency-Key took over this push after ${PUSH_ALIVE_MS / 1_000} s of inactivity. ` +
      `No document is lost: repeat the same push in ${RETRY_AFTER_SECONDS} s to get the answer of that request.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    members: { submission },
  };
}

/** For a push whose collection was deleted after it began. It cannot go on, and the same key cannot resume it. */
export function collectionDeleted(submission: SubmissionId): Problem {
  return {
    name: "conflict",
    detail:
      "The collection was deleted after this push began, so all of its documents are canceled. Push them again, with a " +
      "new Idempotency-Key if the push had one.",
    members: { submission },
  };
}

export function anotherBody(submission: SubmissionId | null): Problem {
  return {
    name: "idempotency-key-reused",
    detail:
      "The first push with this Idempotency-Key had other options, another content type or another body: other " +
      "documents, another order, or other bytes. Repeat exactly the same request, or use a new key.",
    members: { submission },
  };
}
