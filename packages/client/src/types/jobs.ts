import type { DocumentStatus, Lane, Waiting } from "./documents.ts";

/**
 * `pending`: waits for its dispatch · `dispatching`: it is unknown whether Workers AI has it · `dispatched`: Workers AI
 * is processing it · `succeeded`: an answer was applied · `split`: replaced by two jobs with half its documents each ·
 * `failed`: its documents failed · `canceled`: nothing was left to send · `merged`: another job took over its documents
 * before it was dispatched.
 */
export type JobStatus =
  | "pending"
  | "dispatching"
  | "dispatched"
  | "succeeded"
  | "split"
  | "failed"
  | "canceled"
  | "merged";

/** One Batch API call. */
export interface Job {
  readonly id: string;
  readonly status: JobStatus;
  readonly lane: Lane;
  readonly model: string;
  /** The request id of Workers AI, during and after the dispatch. */
  readonly request_id: string | null;
  /** The job it replaces, entirely or by half. */
  readonly parent_id: string | null;
  /** The job that took over its documents before it was dispatched. */
  readonly merged_into: string | null;
  /** The last 20, newest last. */
  readonly attempts: readonly Attempt[];
  readonly document_count: number;
  readonly context_count: number;
  /** UTF-8 bytes of its requests. */
  readonly payload_bytes: number;
  /** Whole seconds from its recording to its end, or until now. */
  readonly age_seconds: number;
  /** When the poller asks for its answer next; `null` if it is not dispatched or has ended. */
  readonly next_poll_at: string | null;
  readonly waiting: Waiting | null;
  readonly usage: JobUsage;
  readonly created_at: string;
  readonly dispatched_at: string | null;
  readonly ended_at: string | null;
}

/** One attempt to dispatch a job. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly request_id: string | null;
  /** Why it brought no answer: a code, and the service's message. */
  readonly error: { readonly reason: string; readonly message: string } | null;
}

export interface JobUsage {
  /** Known once it is answered, if the answer includes it. */
  readonly tokens: number | null;
  /** Dispatches that Workers AI may or may not have run. */
  readonly unconfirmed_dispatches: number;
  /** Dispatches that Workers AI accepted and Sluice gave up on. */
  readonly repeated_dispatches: number;
}

/** `requested`: by a person or a program (`waiting` says `paused…`); the others as in `WaitingReason`. */
export type PauseReason = "requested" | "daily_limit" | "configuration";

/** What to pause or resume: everything (neither), a model, or a submission. */
export interface PauseBody {
  readonly model?: string;
  readonly submission?: string;
  /** The reason for others to read; for a pause only. */
  readonly reason?: string;
}

/** An active stop of dispatching. */
export interface Pause {
  /** `all`, `model:NAME` or `submission:ID`. */
  readonly scope: string;
  readonly reason: PauseReason;
  /** The given reason, or the service's message. */
  readonly message: string | null;
  readonly since: string;
  /** `null`: until someone resumes it. */
  readonly until: string | null;
}

/** The answer to a pause. */
export interface PauseList {
  readonly data: readonly Pause[];
}

/** The answer to a resume. */
export interface Resumed extends PauseList {
  /** The pause that ended; `null` if there was none. */
  readonly resumed: Pause | null;
}

/** What computes scores: Workers AI, or one of its local stand-ins, whose scores differ. */
export type Scorer = "workers-ai" | "minilm" | "lexical" | "instant";

/** The state of the service, from stored counters. */
export interface Stats {
  readonly scorer: Scorer;
  readonly lanes: Readonly<Record<Lane, Readonly<Record<DocumentStatus, number>>>>;
  /** Documents and jobs that have not ended. */
  readonly backlog: { readonly documents: number; readonly jobs: number };
  /** When the oldest of them was pushed. */
  readonly oldest_waiting_at: string | null;
  /** Documents that ended in the last five minutes and the last hour. */
  readonly throughput: { readonly last_5_minutes: number; readonly last_hour: number };
  /** Failed documents by code. */
  readonly failures: Readonly<Record<string, number>>;
  /** Quarantined messages, counted up to 1,000. */
  readonly malformed_messages: number;
  readonly pauses: readonly Pause[];
  /**
   * `null` if it has never run. The time may lag by 30 s, because a run shortly after another does not record its own.
   */
  readonly poller: { readonly last_run_at: string } | null;
  /** How full the database is; `null` below 70 % of its limit. At `full`, new pushes are refused. */
  readonly database: DatabaseSize | null;
  readonly usage: JobUsage & { readonly jobs: number };
}

/** The size of the database. */
export interface DatabaseSize {
  /** `high` from 70 % of the limit, `pressure` from 85 %, `full` from 95 % until below 90 %. */
  readonly level: "high" | "pressure" | "full";
  readonly bytes: number;
  readonly limit_bytes: number;
  /** When it reached this level. */
  readonly since: string;
}

/** A message that could not be read or recorded, without its text. */
export interface MalformedMessage {
  /** Opaque, and stable for each message. */
  readonly id: string;
  /** The queue it came from; `staged_parts` if it was staged in D1. */
  readonly queue: string;
  readonly message_id: string;
  readonly reason: string;
  /** The submission it names, if any. */
  readonly submission_id: string | null;
  /** Size of its body in UTF-8 bytes. */
  readonly bytes: number;
  readonly received_at: string;
}

/** The answer to a replay. */
export interface Replayed {
  /** Messages sent again. */
  readonly replayed: number;
}

/** `GET /healthz`. */
export interface Health {
  readonly status: "ok";
}
