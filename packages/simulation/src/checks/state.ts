import type { Caller } from "../world/caller.ts";
import type { Change, JobRow, OutcomeRow, SubmissionRow } from "./changes.ts";

/** A document as a client pushed it, from which its scores must be computed. */
export interface Content {
  readonly index: number;
  readonly lane: string;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly contextIds: readonly string[] | null;
  /** JSON text; `null` if none. */
  readonly metadata: string | null;
}

/** `submission` and a document's id: a version. */
export type VersionKey = string;

export const versionKey = (submission: string, document: string): VersionKey => `${submission}\n${document}`;

/** One version of a document: its state in D1, and what Workers AI reported about it. */
export interface Version {
  readonly key: VersionKey;
  readonly submission: string;
  readonly document: string;
  readonly content: Content;
  collection: string;
  /** From its row: the bytes that it adds to a batch. */
  payloadBytes: number;
  recorded: boolean;
  deleted: boolean;
  /** Its part, and the row of its texts. */
  part: number;
  contextsId: number;
  /** Whether its texts did not expire, and its part still lists it. */
  hasTexts: boolean;
  isListed: boolean;
  outcome: OutcomeRow | null;
  readonly openJobs: Set<string>;
  /** When D1 recorded that it ended with a job, by D1's clock. Each retry adds an entry. */
  readonly endedAt: number[];
  /** The number of answers without a usable result for it, and the failure codes that this may lead to. */
  unusable: number;
  readonly mayFailWith: Set<string>;
  /** How often the service refused a batch with it, or reported nothing about it. */
  turnedAway: number;
  /** Dispatches with it whose batches the service accepted, since it was pushed or retried. */
  readonly batches: Dispatch[];
  /** The code with which it had failed when it was deleted, if any. */
  readonly deletedFailures: string[];
  /** The same if retention deleted it: it stays in the totals. */
  readonly forgottenFailures: string[];
  /** Bytes of its request as JSON; 0 before it was sent. */
  requestBytes: number;
  /** Dispatches with it since it was queued, how many the service definitely refused, and how many it accepted. */
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
    part: 0,
    contextsId: 0,
    hasTexts: true,
    isListed: true,
    outcome: null,
    openJobs: new Set(),
    endedAt: [],
    unusable: 0,
    mayFailWith: new Set(),
    turnedAway: 0,
    batches: [],
    deletedFailures: [],
    forgottenFailures: [],
    requestBytes: 0,
    dispatches: new Set(),
    refused: 0,
    accepted: 0,
  };
}

/** Resets a failed document that is queued again. Earlier reports about it no longer count. */
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
  /** The references that its requests must have, in order. */
  readonly references: string;
  /** By the clock of the Worker that started it, before it called D1. */
  readonly startedAt: number;
  readonly by: Caller;
  submitted: boolean;
  /** The id that Workers AI gave the accepted batch. */
  requestId: string | null;
  /** Whether D1 has recorded that id. */
  isConfirmed: boolean;
  /** When Workers AI accepted the batch. */
  takenAt: number;
  /** When its answer is ready; `Infinity` if there is no batch or never an answer. */
  readyAt: number;
  /** The tokens that its answer counts; `null` if it counts none. */
  tokens: number | null;
  /** Documents without a result in its answer. */
  readonly unusable: Set<VersionKey>;
  /** What Workers AI has reported to a Worker. D1 may record only that. */
  readonly reported: Set<"answered" | "invalid" | "shrink" | "permanent" | "over">;
}

/** How a job was created: from parts, or from another job. */
export type JobOrigin = "recorded" | "piece" | "follow_up" | "retry" | "kept_back";

export interface Job {
  origin: JobOrigin;
  row: JobRow;
  list: readonly VersionKey[];
  readonly dispatches: Map<number, Dispatch>;
  /** Whether it holds documents of a batch that was split as invalid. */
  isPieceOfInvalid: boolean;
  /** The number of documents when it was recorded, or in its first dispatch. */
  largest: number;
  /** Whether retention deleted it. */
  deleted: boolean;
}

export function newJob(row: JobRow): Job {
  return {
    origin: "recorded",
    row,
    list: listOf(row.members),
    dispatches: new Map(),
    isPieceOfInvalid: false,
    largest: row.document_count,
    deleted: false,
  };
}

/** A submission's row, and the counters expected from the other rows. */
export interface Submission {
  row: SubmissionRow;
  recorded: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Documents whose row was deleted. */
  forgotten: number;
  /** Dispatches with its documents that jobs count as unconfirmed. */
  unconfirmed: number;
  /** Jobs that ended with its documents, and its shares of their usage. */
  jobs: number;
  tokens: number;
  /** The request that opened its push, or last took it over. */
  heldBy: Caller;
  /** By D1's clock. */
  heldSince: number;
  /** Whether retention deleted it. */
  deleted: boolean;
}

/** A submission that was just opened by a request. */
export function newSubmission(row: SubmissionRow, heldBy: Caller, heldSince: number): Submission {
  const counts = {
    recorded: 0,
    succeeded: 0,
    failed: 0,
    canceled: 0,
    forgotten: 0,
    unconfirmed: 0,
    jobs: 0,
    tokens: 0,
  };
  return { row, ...counts, heldBy, heldSince, deleted: false };
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

/** Builds a dispatch from a job's row at its start. `indexOf` returns a document's index in its push. */
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

/** Lists the documents of a job in order. */
export function listOf(members: string): VersionKey[] {
  const groups = JSON.parse(members) as [string, string[]][];
  return groups.flatMap(([submission, documents]) => documents.map((document) => versionKey(submission, document)));
}

/** Applies the insert of a document's row. */
export function recordVersion(version: Version, [, , , collection, , payloadBytes, part, contextsId]: Change): void {
  version.recorded = true;
  version.payloadBytes = Number(payloadBytes);
  version.collection = String(collection);
  [version.part, version.contextsId] = [Number(part), Number(contextsId)];
}

/** Applies a change of a staged part. */
export function takeStagedPart(staged: Map<string, number>, [, event, submission, part, stagedAt]: Change): void {
  if (event === "delete") staged.delete(`${submission} ${part}`);
  else staged.set(`${submission} ${part}`, Number(stagedAt));
}
