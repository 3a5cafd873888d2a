/* Documents, pushes and submissions of the API. */

/** `interactive` is for a few documents that someone waits for, `bulk` for a backfill. */
export type Lane = "interactive" | "bulk";

/**
 * One candidate text: a string, or an object with an id (1–512 bytes, unique in its document). The default id is the
 * index.
 */
export type ContextIn = string | { readonly id?: string; readonly text: string };

/** A document to push: a query and the contexts to score for it. At most 1 MB as JSON. */
export interface DocumentIn {
  /** 1–256 bytes without control characters, not `.` or `..`. The default is `{submission_id}-{n}`. */
  readonly id?: string;
  readonly query: string;
  /** 1–1,000. */
  readonly contexts: readonly ContextIn[];
  /** Returned on request. At most 4 KB as JSON, 32 levels deep. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Options for all documents of a push: in the query string, or in a JSON body beside `documents`. */
export interface PushParameters {
  /** `[A-Za-z0-9._-]{1,64}`; `default`. */
  readonly collection?: string;
  /** `@cf/baai/bge-m3`. */
  readonly model?: string;
  /** `interactive` for JSON of up to 100 documents, else `bulk`. */
  readonly lane?: Lane;
  /** 1–256 bytes: a name of your choice for finding its submissions. */
  readonly label?: string;
  /** Whether a text that exceeds the model's window is truncated (the default) or refused. */
  readonly truncate_inputs?: boolean;
}

/** Many documents in one JSON body. All of them are accepted, or none. */
export interface PushBody extends PushParameters {
  readonly documents: readonly DocumentIn[];
}

/** The answer to a push, `202`. */
export interface PushAccepted {
  readonly submission: Submission;
  /** The ids in push order, for JSON of up to 100 documents; else `null`. */
  readonly documents: readonly { readonly id: string }[] | null;
  /** Accepted documents. */
  readonly accepted: number;
  /** Refused lines; 0 for JSON, which is all or nothing. */
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
 * `queued`: in the Queue and not recorded yet; its submission counts it, but its id is not found · `processing`:
 * recorded; it waits for its dispatch, for the end of a pause, or for its answer, as `waiting` says · the others are
 * final. A document is never lost: it always reaches a final status.
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
  /** A newer server may have more codes than `FailureCode`. */
  readonly code: string;
  /** The message of Workers AI, if there is one. */
  readonly message: string;
  /** Whether a retry may help. */
  readonly retryable: boolean;
}

/** A document as every route returns it. */
export interface Document {
  readonly id: string;
  readonly collection: string;
  readonly status: DocumentStatus;
  readonly query: string;
  readonly model: string;
  readonly lane: Lane;
  /** Best first, from the version `scored_submission_id`. */
  readonly scores: readonly Score[];
  readonly scored_submission_id: string | null;
  /** Whether the scores come from an older version because this one has none yet. */
  readonly stale: boolean;
  readonly error: DocumentError | null;
  /** Answers received, plus the one that is pending. */
  readonly attempts: number;
  /** Only with `include=metadata`; `null` if the document has none. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined;
  /**
   * The text of `metadata` as it was pushed, if JavaScript cannot represent it: a number has more digits than a double
   * keeps, or a name is repeated. The client and the RPC entrypoint add this field; over HTTP, `metadata` itself has
   * this text.
   */
  readonly metadata_json?: string | undefined;
  /** The submission of this version. */
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
  /** A similarity. Compare scores of the same model only. */
  readonly score: number;
  readonly context_id: string;
  /** From 0. */
  readonly context_index: number;
  /** Only with `include=text`; `null` if the text expired or the input of that version is deleted. */
  readonly text?: string | null | undefined;
  /** Only with `include=text`: when retention deleted the text. */
  readonly text_expired_at?: string | null | undefined;
}

/**
 * `push`: the push is still running or was interrupted; at `until` it is closed as incomplete · `queue`: its message is
 * in the Queue · `dispatch`: it is queued for dispatch · `answer`: Workers AI is processing it · `retry`: Workers AI is
 * temporarily unavailable, and Sluice retries · `paused`, `paused_model`, `paused_submission`: someone paused
 * dispatching of everything, its model, or its submission, and must resume it · `daily_limit`: the account's allowance
 * is used up until 00:00 UTC · `configuration`: the account or the model has an error that someone must fix. The list
 * is closed.
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
  /** The time of the next check, or the end of the pause; `null` if unknown. */
  readonly until: string | null;
}

/**
 * `receiving`: its push is still running or was interrupted · `queued`: all documents are sent, none is recorded yet ·
 * `processing`: documents are recorded and not all have ended, or a `retry` is about to queue failed ones again ·
 * `canceling`: it is canceled, but dispatched documents still finish · `completed`: every document ended, failures
 * included · `canceled`: every document ended after it was canceled.
 */
export type SubmissionStatus = "receiving" | "queued" | "processing" | "canceling" | "completed" | "canceled";
/** Filters for lists of submissions: a status, or stalled submissions of any status. */
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
  /** Whether its push was interrupted and closed with the documents sent so far. */
  readonly incomplete: boolean;
  /** Documents that were sent but not recorded for 10 minutes. */
  readonly stalled: { readonly missing: number; readonly since: string } | null;
  readonly waiting: Waiting | null;
  /** A retry in progress. The documents it has not reached still count as failed. */
  readonly retry: SubmissionRetry | null;
  readonly usage: SubmissionUsage;
  readonly created_at: string;
  readonly completed_at: string | null;
}

/**
 * Documents by status. `total` is the sum of the others; while `receiving`, it is the number sent so far. `canceled`
 * includes documents that were deleted before they ended, which are not in the results.
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
  /** Failed documents when the retry was requested. */
  readonly documents: number;
  /** Documents it has queued again so far. */
  readonly queued: number;
  readonly since: string;
}

export interface SubmissionUsage {
  readonly tokens: number;
  readonly jobs: number;
  /** Dispatches that Workers AI may have run and charged for without a confirmation. */
  readonly unconfirmed_dispatches: number;
}

/**
 * A page of a list. Pass `next_cursor` to continue; `null` is the end. A page may be short or empty and still have a
 * next one.
 */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

/** `counts` is the sum over every submission of the label, if `label` was given. */
export interface SubmissionPage extends Page<Submission> {
  readonly counts?: Counts | undefined;
}

/** Several documents at once, in the given order. */
export interface DocumentList {
  readonly data: readonly Document[];
  /** Ids that are not in the collection. */
  readonly missing: readonly string[];
}

/** The answer to a retry of failed documents. */
export interface RetryAccepted {
  readonly submission: Submission;
  /** Documents that this retry has queued again so far. `submission.retry` says whether it is still in progress. */
  readonly queued: number;
  /** Documents that failed as `message_lost`. They were never recorded and cannot be queued again: push them again. */
  readonly lost: number;
  /** Failed documents that were deleted, or whose texts were because the database was nearly full: push them again. */
  readonly expired?: number | undefined;
}

/** A collection: its recorded documents, and its last deletion. */
export interface Collection {
  readonly collection: string;
  /** Recorded documents by the status of their newest version, without those in the Queue. */
  readonly counts: Omit<Counts, "queued">;
  /** Whether `counts` has all recorded documents. A large collection is counted in part. */
  readonly counted_all: boolean;
  /** `null` if none was requested. */
  readonly deletion: CollectionDeletion | null;
}

/** The deletion of a collection. */
export interface CollectionDeletion {
  readonly requested_at: string;
  /** The submission up to which the collection's documents are deleted. Later ones stay. */
  readonly through: string;
  /** Versions deleted so far. */
  readonly deleted_documents: number;
  /** `null` while it is in progress. */
  readonly completed_at: string | null;
}

/** The answer to a deletion. */
export interface DeletedDocument {
  /** Deleted versions. */
  readonly deleted: number;
}
