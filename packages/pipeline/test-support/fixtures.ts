import { weighPart } from "../src/job/plan-jobs.ts";
import { listMembers, type JobMembers } from "../src/job/members.ts";
import {
  mintJobId,
  nameDocument,
  serializeDocument,
  uuidTail,
  type JobId,
  type RequestId,
  type SubmissionId,
} from "@sluice/core";
import { parseMessage, partBody } from "../src/message/message.ts";
import { rankScores } from "../src/score/rank-scores.ts";
import { confirmDispatch } from "../src/job/sql/confirm-dispatch.ts";
import { finalizeJobs } from "../src/score/sql/finalize-jobs.ts";
import { openSubmission, type NewSubmission, type OpenedSubmission } from "../src/submission/sql/open-submission.ts";
import { partToRecord } from "../src/message/part-to-record.ts";
import { recordParts, type PartToRecord, type RecordingTransaction } from "../src/message/sql/record-parts.ts";
import { mintNumber } from "./minted.ts";
import { startDispatch } from "../src/job/sql/start-dispatch.ts";
import type { ClaimLimits } from "../src/job/sql/claim-due-jobs.ts";
import type { Database } from "@sluice/db";

export const NOW = 1_790_000_000_000;
export const MODEL = "@cf/baai/bge-m3";

/** Generates bytes that are unique within a test and the same in every run. */
export function bytes(count: number): Uint8Array {
  const minted = mintNumber();
  return Uint8Array.from({ length: count }, (_, index) => (minted >> (8 * (index % 4))) & 0xff);
}

export async function open(db: Database, more: Partial<NewSubmission> = {}, now = NOW): Promise<SubmissionId> {
  const submission = {
    collection: "default",
    model: MODEL,
    lane: "bulk",
    label: null,
    truncateInputs: true,
    total: 1,
    closed: true,
    ...more,
  } as const;
  return opened(await openSubmission(db, submission, uuidTail(bytes(10)), now)).id;
}

/** A submission that must have been opened. */
export function opened(opening: OpenedSubmission | "full" | null): OpenedSubmission {
  if (opening === null || opening === "full") throw new Error(`the submission was not opened: ${opening ?? "taken"}`);
  return opening;
}

export interface TestDocument {
  readonly id?: string;
  readonly query?: string;
  readonly contexts?: readonly string[];
  readonly contextIds?: readonly string[];
}

/** A part with its message body. */
export interface TestPart extends PartToRecord {
  readonly body: string;
}

/** Creates a part as parsed from its message. `first` is the index of its first document. */
export function part(
  submission: SubmissionId,
  number: number,
  documents: readonly TestDocument[],
  first = 0,
  collection = "default",
): TestPart {
  const texts = documents.map((document, index) => {
    const id = document.id ?? nameDocument(submission, first + index);
    const serialized = serializeDocument(
      {
        id,
        query: document.query ?? "a query",
        contexts: document.contexts ?? ["one", "two"],
        contextIds: document.contextIds ?? null,
        metadata: null,
      },
      id,
      first + index,
    );
    if (!serialized.ok) throw new Error("a test document is refused");
    return serialized.value.json;
  });
  const header = { submission, collection, model: MODEL, lane: "bulk", truncateInputs: true } as const;
  const body = partBody(header, number, `hash-${number}`, texts.join(","));
  const message = parseMessage(body);
  if (!message.ok || message.value.kind !== "part") throw new Error("a test part is not a message");
  return { ...partToRecord(message.value, weighPart(message.value)), body };
}

export function jobId(now = NOW): JobId {
  return mintJobId(now, bytes(10));
}

/** Builds a transaction with one statement per list of rows. Each row is a list of parts. */
export function transactionOf(...statements: readonly (readonly (readonly PartToRecord[])[])[]): RecordingTransaction {
  return { statements: statements.map((rows) => ({ contextsRows: rows.map((parts) => ({ parts })) })) };
}

/** Records parts, each list with its own statement, and the texts of each part in their own row. */
export async function record(db: Database, id: JobId, statements: readonly (readonly PartToRecord[])[], now = NOW) {
  const transaction = transactionOf(...statements.map((parts) => parts.map((one) => [one])));
  return recordParts(db, { id, model: MODEL, lane: "bulk", leaseUntil: now + 120_000 }, transaction, now);
}

/** Claim limits that no test reaches. */
export function claimLimits(now: number, more: Partial<ClaimLimits> = {}): ClaimLimits {
  const pollWaits = { waitMs: 30_000, eagerMs: 600_000 };
  return { polls: 60, pollWaits, dispatches: 600, payloadBytes: 20_000_000, leaseUntil: now + 120_000, ...more };
}

/** Starts and confirms the first dispatch. */
export async function dispatch(db: Database, id: JobId, now = NOW): Promise<JobMembers> {
  const started = await startDispatch(
    db,
    { id, dispatchNumber: 0, status: "pending" },
    { until: now + 120_000, token: "t" },
    now,
  );
  if (started === null) throw new Error("the dispatch did not start");
  await confirmDispatch(db, { id, dispatchNumber: started.dispatchNumber }, "request-1" as RequestId, now + 30_000);
  return started.members;
}

/** Finalizes a dispatched job with the same two scores for every document. */
export async function succeed(db: Database, id: JobId, members: JobMembers, now = NOW, scores = [0.25, 0.75]) {
  const outcomes = listMembers(members).map((member) => ({ ...member, scores: rankScores(scores, null) }));
  const end = { status: "succeeded", outcomes, children: [], tokens: 1_000, error: null } as const;
  return (await finalizeJobs(db, [{ job: { id, dispatchNumber: 1, status: "dispatched" }, end }], now)).has(id);
}
