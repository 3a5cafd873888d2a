import { err, ok, uuidTail, type Result, type SubmissionId } from "@sluice/core";
import { databaseBytes, isDatabaseFull, isTransient } from "@sluice/db";
import type { PartHeader } from "@sluice/pipeline/message/message.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { openKeyedSubmission, openSubmission, type KeyClaim } from "@sluice/pipeline/submission/sql/open-submission.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { CountedPart } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import type { ApiContext } from "../context.ts";
import type { PushOptions } from "./options.ts";

export type SendingContext = Pick<ApiContext, "db" | "queues" | "databaseTime" | "random" | "log"> & {
  /** Without it, a Queue that pushes back is not waited for. */
  readonly sleep?: ApiContext["sleep"];
};

/** A push whose submission is open, and which this request sends. */
export interface OpenPush {
  readonly submission: SubmissionId;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly header: PartHeader;
  /** Documents that the submission counts already. */
  readonly total: number;
  /** Whether the submission was closed as it was opened, since its only part was known. */
  readonly closed: boolean;
  readonly isKeyed: boolean;
  /** The token of the request that took the push over; `null` if it was opened by this one. */
  readonly holder: string | null;
  /** Parts that `total` counts, if the push was taken over. */
  readonly counted: readonly CountedPart[];
}

/** An interrupted push that this request has taken over. */
export interface TakenOver {
  readonly row: SubmissionRow;
  /** Its recorded and staged parts, at the time of the takeover. */
  readonly counted: readonly CountedPart[];
  readonly holder: string;
}

/** Why a push was not opened. */
export type OpenFailure = "unsent" | "taken" | "full";

/** Milliseconds. A size of the database that D1 reported earlier does not count: the poller has recorded a newer one. */
const SIZE_LIFE_MS = 60_000;

/** What every part of a push repeats. */
export function partHeader(submission: SubmissionId, options: PushOptions): PartHeader {
  const { collection, model, lane, truncateInputs } = options;
  return { submission, collection, model, lane, truncateInputs };
}

/**
 * Writes the submission's row, under `claim` if there is one. `total` counts the documents of its first part; `closed` says
 * that there is no other; `bytes` are those of the push, as far as known. `taken`: another push has the key. `unsent`: D1
 * is unavailable. `full`: the database has no room for the push.
 */
export async function openPush(
  context: SendingContext,
  options: PushOptions,
  { bytes, ...first }: { readonly total: number; readonly closed: boolean; readonly bytes: number },
  claim: KeyClaim | null,
): Promise<Result<OpenPush, OpenFailure>> {
  try {
    const row = { ...options, ...first };
    const needed = { bytes, known: databaseBytes(context.db, SIZE_LIFE_MS) };
    const tail = uuidTail(context.random(10));
    const opened =
      claim === null
        ? await openSubmission(context.db, row, tail, context.databaseTime(), needed)
        : await openKeyedSubmission(context.db, row, claim, tail, context.databaseTime(), needed);
    if (opened === null) return err("taken");
    if (opened === "full") return notOpened(context, "full");
    const { id: submission, createdAt } = opened;
    const header = partHeader(submission, options);
    return ok({ submission, createdAt, header, ...first, isKeyed: claim !== null, holder: null, counted: [] });
  } catch (error) {
    if (isDatabaseFull(error)) return notOpened(context, "full", describeError(error));
    if (isTransient(error)) return notOpened(context, "unsent", describeError(error));
    throw error;
  }
}

function notOpened(
  { log }: SendingContext,
  reason: OpenFailure,
  description: Partial<ReturnType<typeof describeError>> = {},
): Result<never, OpenFailure> {
  log({ event: "push_not_opened", reason, ...description });
  return err(reason);
}

/** The interrupted push, to be sent again from its first document. */
export function resumePush(options: PushOptions, { row, counted, holder }: TakenOver): OpenPush {
  const { id: submission, createdAt, total } = row;
  const header = partHeader(submission, options);
  return { submission, createdAt, header, total, closed: row.closedAt !== null, isKeyed: true, holder, counted };
}
