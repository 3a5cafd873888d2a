/* Documents, pushes and submissions on the wire. */

/** `interactive` is for a few documents that someone waits for, `bulk` for a backfill. */
export type Lane = "interactive" | "bulk";

/** One candidate text: as it is, or with an id of its own (1–512 bytes, unique in its document; else its index). */
export type ContextIn = string | { readonly id?: string; readonly text: string };

/** A document to push: a query and the contexts to score for it. At most 1 MB as JSON. */
export interface DocumentIn {
  /** 1–256 bytes without control characters, not `.` or `..`. Left out, it is `{submission_id}-{n}`. */
  readonly id?: string;
  readonly query: string;
  /** 1–1,000. */
  readonly contexts: readonly ContextIn[];
  /** Given back where asked for. At most 4 KB as JSON, 32 levels deep. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What a push says of all its documents: in the query string, or in a JSON body beside `documents`. */
export interface PushParameters {
  /** `[A-Za-z0-9._-]{1,64}`; `default`. */
  readonly collection?: string;
  /** `@cf/baai/bge-m3`. */
  readonly model?: string;
  /** `interactive` for JSON of up to 100 documents, else `bulk`. */
  readonly lane?: Lane;
  /** 1–256 bytes: a name of yours to find its submissions by. */
  readonly label?: string;
  /** Whether a text beyond the model's window is cut; true. Else it is refused. */
  readonly truncate_inputs?: boolean;
}

/** Many documents in one JSON body: all of them are taken in, or none. */
export interface PushBody extends PushParameters {
  readonly documents: readonly DocumentIn[];
}

/** The answer to a push, `202`. */
export interface PushAccepted {
  readonly submission: Submission;
  /** The ids in the order pushed, for JSON of up to 100 documents; else `null`. */
  readonly documents: readonly { readonly id: string }[] | null;
  /** Documents that were taken in. */
  readonly accepted: number;
  /** Lines that were refused; 0 for JSON, which is all or nothing. */
  readonly rejected_count: number;
  /** The first 100 of these. */
  readonly rejected: readonly RejectedLine[];
}

export interface RejectedLine {
  /** From 1. Blank lines count. */
  readonly line: number;
  readonly detail: string;
}

/**
 * `queued`: in the Queue, not recorded yet; its submission counts it, and its id is not found ·
 * `processing`: recorded; it waits to be dispatched, for the end of a pause, or for its answer, as `waiting`
 * tells · the others are ends. A document is never lost: it comes to one of them.
 */
export type DocumentStatus = "queued" | "processing" | "succeeded" | "failed" | "canceled";

/** Why a document failed. The list is closed. */
export type FailureCode =
  | "invalid_input"
  | "too_large"
  | "model_error"
  | "missing_result"
  | "mismatched_result"
  | "invalid_result"
  | "no_answer"
  | "refused"
  | "message_lost";

export interface DocumentError {
  /** A server newer than this client may know a further `FailureCode`. */
  readonly code: string;
  /** Workers AI's words where it gave any. */
  readonly message: string;
  /** Whether a retry may help. */
  readonly retryable: boolean;
}

/** A document as every route gives it. */
export interface Document {
  readonly id: string;
  readonly collection: string;
  readonly status: DocumentStatus;
  readonly query: string;
  readonly model: string;
  readonly lane: Lane;
  /** Best first; those of the version `scored_submission_id`. */
  readonly scores: readonly Score[];
  readonly scored_submission_id: string | null;
  /** Whether the scores are an older version's, until this one has its own. */
  readonly stale: boolean;
  readonly error: DocumentError | null;
  /** Answers that were used up, and the one that is awaited. */
  readonly attempts: number;
  /** Only with `include=metadata`; `null` where it came without. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined;
  /**
   * The text of `metadata` as it was pushed, if JavaScript cannot hold it: a number has more digits than a
   * double keeps, or a name is repeated. The client and the RPC entrypoint add it; HTTP gives this text as
   * `metadata`.
   */
  readonly metadata_json?: string | undefined;
  /** The push that this version came with. */
  readonly submission_id: string;
  readonly job_id: string | null;
  readonly waiting: Waiting | null;
  readonly created_at: string;
  readonly dispatched_at: string | null;
  readonly finalized_at: string | null;
}

export interface Score {
  /** From 1, the best; ties by index. */
  readonly rank: number;
  /** A similarity, comparable within a model only. */
  readonly score: number;
  readonly context_id: string;
  /** From 0. */
  readonly context_index: number;
  /** Only with `include=text`; `null` where that version's input is gone. */
  readonly text?: string | null | undefined;
}

/**
 * `push`: the rest of its push, which is under way or broke off: at `until` it is closed as incomplete ·
 * `queue`: its message is in the Queue · `dispatch`: its turn has not come · `answer`: Workers AI has
 * it · `retry`: Workers AI turned it away for now, and it is tried again · `paused`, `paused_model`,
 * `paused_submission`: someone paused dispatching of everything, of its model, or of its submission, and
 * a resumption of the same ends that · `daily_limit`: the account's allowance is used up until 00:00 UTC ·
 * `configuration`: the account or the model is at fault, and someone has to look. The list is closed.
 */
export type WaitingReason =
  | "push"
  | "queue"
  | "dispatch"
  | "answer"
  | "retry"
  | "paused"
  | "paused_model"
  | "paused_submission"
  | "daily_limit"
  | "configuration";

export interface Waiting {
  readonly reason: WaitingReason;
  /** When it is looked at next, or the pause ends; `null` where nobody knows. */
  readonly until: string | null;
}

/**
 * `receiving`: its push is under way, or broke off · `queued`: all of it is sent, nothing recorded yet ·
 * `processing`: documents are recorded and have not all ended, or a `retry` is about to queue failed ones again ·
 * `canceling`: it is canceled, and what is
 * dispatched finishes · `completed`: every document ended, failures included · `canceled`: every document
 * ended after it was canceled.
 */
export type SubmissionStatus = "receiving" | "queued" | "processing" | "canceling" | "completed" | "canceled";
/** What submissions are listed by: a status, or that they are stalled, whatever their status. */
export type SubmissionStatusFilter = SubmissionStatus | "stalled";

/** An accepted push. */
export interface Submission {
  readonly id: string;
  readonly collection: string;
  readonly model: string;
  readonly lane: Lane;
  readonly label: string | null;
  readonly status: SubmissionStatus;
  readonly counts: Counts;
  /** Failed documents by code. */
  readonly failures: Readonly<Record<string, number>>;
  /** Whether its push broke off, and was closed with what it had sent. */
  readonly incomplete: boolean;
  /** Documents that were sent and not recorded for 10 minutes. */
  readonly stalled: { readonly missing: number; readonly since: string } | null;
  readonly waiting: Waiting | null;
  /** A retry that has not come to all of its documents yet: those are still counted as failed. */
  readonly retry: SubmissionRetry | null;
  readonly usage: SubmissionUsage;
  readonly created_at: string;
  readonly completed_at: string | null;
}

/**
 * Documents by status. `total` is the sum of the others; while `receiving`, what was sent so far.
 * `canceled` counts those too that were deleted before they had ended, and are not among the results.
 */
export interface Counts {
  readonly total: number;
  readonly queued: number;
  readonly processing: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

export interface SubmissionRetry {
  /** Failed documents that it was requested for. */
  readonly documents: number;
  /** Documents that it has queued again so far. */
  readonly queued: number;
  readonly since: string;
}

export interface SubmissionUsage {
  readonly tokens: number;
  readonly jobs: number;
  /** Dispatches of which it is not known whether Workers AI ran, and charged, them. */
  readonly unconfirmed_dispatches: number;
}

/** A page of a list. `next_cursor` goes on, `null` ends; a page may be short, even empty, and still have a next. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

/** `counts` sums up every submission of the label, where `label` was asked for. */
export interface SubmissionPage extends Page<Submission> {
  readonly counts?: Counts | undefined;
}

/** Several documents at once, in the order asked. */
export interface DocumentList {
  readonly data: readonly Document[];
  /** Ids that the collection does not hold. */
  readonly missing: readonly string[];
}

/** The answer to a retry of failed documents. */
export interface RetryAccepted {
  readonly submission: Submission;
  /** Documents that this retry has queued again so far: `submission.retry` tells whether it goes on. */
  readonly queued: number;
  /** Documents that failed as `message_lost`: they were never recorded and cannot be queued again. Push them again. */
  readonly lost: number;
}

/** The answer to a deletion. */
export interface DeletedDocument {
  /** Versions that were forgotten. */
  readonly deleted: number;
}
