import type { DocumentStatus, Lane, Waiting } from "./documents.ts";

/**
 * `pending`: waits to be dispatched · `dispatching`: it is not known whether Workers AI has it ·
 * `dispatched`: its answer is awaited · `succeeded`: an answer was applied · `split`: replaced by two
 * jobs of half its documents each · `failed`: its documents failed · `canceled`: nothing was left to send · `merged`: another job took over its documents before
 * it was dispatched.
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
  /** What Workers AI calls it, while it is dispatched and after. */
  readonly request_id: string | null;
  /** The job that it follows up, or half of which it is. */
  readonly parent_id: string | null;
  /** The job that took over its documents before it was dispatched. */
  readonly merged_into: string | null;
  /** The last 20, the newest last. */
  readonly attempts: readonly Attempt[];
  readonly document_count: number;
  readonly context_count: number;
  /** UTF-8 bytes of its requests. */
  readonly payload_bytes: number;
  /** Whole seconds from its recording to its end, or to now. */
  readonly age_seconds: number;
  /** When the poller asks for its answer next; `null` where it is not dispatched, or has ended. */
  readonly next_poll_at: string | null;
  readonly waiting: Waiting | null;
  readonly usage: JobUsage;
  readonly created_at: string;
  readonly dispatched_at: string | null;
  readonly ended_at: string | null;
}

/** A try at dispatching a job. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly request_id: string | null;
  /** Why it brought no answer, in a word and in the service's own words. */
  readonly error: { readonly reason: string; readonly message: string } | null;
}

export interface JobUsage {
  /** Once it is answered, where the answer tells. */
  readonly tokens: number | null;
  /** Dispatches of which it is not known whether Workers AI ran them. */
  readonly unconfirmed_dispatches: number;
  /** Dispatches that Workers AI took in and that were given up on. */
  readonly repeated_dispatches: number;
}

/** `requested`: by a person or a program (what waits says `paused…`); the others as in `WaitingReason`. */
export type PauseReason = "requested" | "daily_limit" | "configuration";

/** What to stop, or to go on with: everything (neither), a model, or a submission. */
export interface PauseBody {
  readonly model?: string;
  readonly submission?: string;
  /** Why, for others to read; of a pause only. */
  readonly reason?: string;
}

/** A stop of dispatching that is in force. */
export interface Pause {
  /** `all`, `model:NAME` or `submission:ID`. */
  readonly scope: string;
  readonly reason: PauseReason;
  /** The reason that was given, or the service's words. */
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
  /** The pause that ended; `null`: nothing of that name was paused. */
  readonly resumed: Pause | null;
}

/** What computes scores: Workers AI, or one of its stand-ins on one machine, whose scores differ. */
export type Scorer = "workers-ai" | "minilm" | "lexical" | "instant";

/** The state of the whole, from stored counters. */
export interface Stats {
  readonly scorer: Scorer;
  readonly lanes: Readonly<Record<Lane, Readonly<Record<DocumentStatus, number>>>>;
  /** What has not ended. */
  readonly backlog: { readonly documents: number; readonly jobs: number };
  /** When the oldest of it was pushed. */
  readonly oldest_waiting_at: string | null;
  /** Documents that ended in the last five minutes and the last hour. */
  readonly throughput: { readonly last_5_minutes: number; readonly last_hour: number };
  /** Failed documents by code. */
  readonly failures: Readonly<Record<string, number>>;
  /** Quarantined messages, counted up to 1,000. */
  readonly malformed_messages: number;
  readonly pauses: readonly Pause[];
  /** `null`: it has never run. The time may lag by 30 s: a run that follows another sooner does not write its own down. */
  readonly poller: { readonly last_run_at: string } | null;
  readonly usage: JobUsage & { readonly jobs: number };
}

/** A message that could not be read or recorded, without its text. */
export interface MalformedMessage {
  /** Opaque, and always the same for a message. */
  readonly id: string;
  /** The queue that it came from; `staged_parts`: it was staged in D1. */
  readonly queue: string;
  readonly message_id: string;
  readonly reason: string;
  /** The submission that it names, if any. */
  readonly submission_id: string | null;
  /** Of its body, in UTF-8. */
  readonly bytes: number;
  readonly received_at: string;
}

/** The answer to a replay. */
export interface Replayed {
  /** Messages that were sent again. */
  readonly replayed: number;
}

/** `GET /healthz`. */
export interface Health {
  readonly status: "ok";
}
