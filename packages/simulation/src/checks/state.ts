import type { Caller } from "../world/caller.ts";
import type { JobRow, OutcomeRow, SubmissionRow } from "./changes.ts";

/** A document as a client pushed it: what its scores must be computed from. */
export interface Content {
  readonly index: number;
  readonly lane: string;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly contextIds: readonly string[] | null;
  /** As JSON text; `null`: none. */
  readonly metadata: string | null;
}

/** `submission` and a document's id: a version. */
export type VersionKey = string;

export const versionKey = (submission: string, document: string): VersionKey => `${submission}\n${document}`;

/** One version of a document, as D1 holds it, and what Workers AI said about it. */
export interface Version {
  readonly key: VersionKey;
  readonly submission: string;
  readonly document: string;
  readonly content: Content;
  collection: string;
  /** As its row has it: what it adds to a batch. */
  payloadBytes: number;
  recorded: boolean;
  deleted: boolean;
  outcome: OutcomeRow | null;
  readonly openJobs: Set<string>;
  /** When D1 recorded that it ended with a job, by D1's clock: again after each retry. */
  readonly endedAt: number[];
  /** Answers that held nothing usable for it, and the codes that this may end in. */
  unusable: number;
  readonly mayFailWith: Set<string>;
  /** Times that the service turned a batch with it away, or kept silent about it. */
  turnedAway: number;
  /** Dispatches whose batches the service took in with it, since it was pushed or retried. */
  readonly batches: Dispatch[];
  /** The code that it failed with when it was deleted: none, or one. */
  readonly deletedFailures: string[];
  /** Bytes of its request as JSON; 0 before it was sent. */
  requestBytes: number;
  /** Dispatches with it since it was queued, how many the service refused for sure, and how many it accepted. */
  readonly dispatches: Set<Dispatch>;
  refused: number;
  accepted: number;
}

export function newVersion(key: VersionKey, content: Content): Version {
  const [submission = "", document = ""] = key.split("\n");
  return {
    key,
    submission,
    document,
    content,
    collection: "",
    payloadBytes: 0,
    recorded: false,
    deleted: false,
    outcome: null,
    openJobs: new Set(),
    endedAt: [],
    unusable: 0,
    mayFailWith: new Set(),
    turnedAway: 0,
    batches: [],
    deletedFailures: [],
    requestBytes: 0,
    dispatches: new Set(),
    refused: 0,
    accepted: 0,
  };
}

/** A document that somebody queues again after it failed: what was said about it before does not count. */
export function startOver(version: Version): void {
  version.unusable = 0;
  version.turnedAway = 0;
  version.batches.length = 0;
  version.refused = 0;
  version.accepted = 0;
  version.dispatches.clear();
  version.mayFailWith.clear();
}

/** One dispatch of a job as D1 recorded it before the call. */
export interface Dispatch {
  readonly job: string;
  readonly number: number;
  readonly list: readonly VersionKey[];
  /** What its requests must be, in order. */
  readonly references: string;
  /** By the clock of the Worker that started it, before it asked D1. */
  readonly startedAt: number;
  readonly by: Caller;
  submitted: boolean;
  /** What Workers AI called the batch it took in for it. */
  requestId: string | null;
  /** Whether D1 has that. */
  isConfirmed: boolean;
  /** When Workers AI took the batch in. */
  takenAt: number;
  /** When its answer is ready: Infinity where there is no batch, or never one. */
  readyAt: number;
  /** What its answer counts; `null`: it says nothing of them. */
  tokens: number | null;
  /** Documents that its answer has no result for. */
  readonly unusable: Set<VersionKey>;
  /** What Workers AI let a Worker know: only then may D1 say so. */
  readonly reported: Set<"answered" | "invalid" | "shrink" | "permanent" | "over">;
}

/** How a job came about: from parts, or from another job. */
export type JobOrigin = "recorded" | "piece" | "follow_up" | "retry" | "kept_back";

export interface Job {
  origin: JobOrigin;
  row: JobRow;
  list: readonly VersionKey[];
  readonly dispatches: Map<number, Dispatch>;
  /** Whether it holds documents of a batch that was split as invalid. */
  isPieceOfInvalid: boolean;
  /** Documents in it as it was recorded, or as its first dispatch sent them. */
  largest: number;
}

export function newJob(row: JobRow): Job {
  return {
    origin: "recorded",
    row,
    list: listOf(row.members),
    dispatches: new Map(),
    isPieceOfInvalid: false,
    largest: row.document_count,
  };
}

/** A submission's row, and what its counters must be by the rows that are there. */
export interface Submission {
  row: SubmissionRow;
  recorded: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Dispatches with its documents in them that jobs count as unconfirmed. */
  unconfirmed: number;
  /** Jobs that ended with documents of it, and its shares of what they used. */
  jobs: number;
  tokens: number;
  /** The request that opened its push, or took it over last. */
  heldBy: Caller;
  /** By D1's clock. */
  heldSince: number;
}

export function isOpen(status: string): boolean {
  return status === "pending" || status === "dispatching" || status === "dispatched";
}

type DispatchHead = Pick<Dispatch, "job" | "number" | "list" | "references" | "startedAt" | "by">;

export function newDispatch(head: DispatchHead): Dispatch {
  return {
    ...head,
    submitted: false,
    requestId: null,
    isConfirmed: false,
    takenAt: Infinity,
    readyAt: Infinity,
    tokens: null,
    unusable: new Set(),
    reported: new Set(),
  };
}

/** A dispatch as a job's row reports its start. `indexOf` is a document's index in its push. */
export function dispatchIn(
  row: JobRow,
  list: readonly VersionKey[],
  by: Caller,
  indexOf: (key: VersionKey) => number | undefined,
): Dispatch {
  const references = list.map((key) => `${key.slice(0, key.indexOf("\n"))}:${indexOf(key)}`).join();
  return newDispatch({
    job: row.id,
    number: row.dispatch_number,
    list,
    references,
    startedAt: row.dispatched_at ?? 0,
    by,
  });
}

/** The documents of a job's list, in order. */
export function listOf(members: string): VersionKey[] {
  const groups = JSON.parse(members) as [string, string[]][];
  return groups.flatMap(([submission, documents]) => documents.map((document) => versionKey(submission, document)));
}
