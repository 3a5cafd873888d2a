import {
  type SubmissionId,
  MAX_JOB_BYTES,
  MAX_JOB_CONTEXTS,
  MAX_JOB_DOCUMENTS,
  MAX_JOB_MEMBER_BYTES,
  MAX_JOB_OUTCOME_BYTES,
  utf8Length,
} from "@sluice/core";
import type { PartMessage } from "../message/message.ts";

/** A job's documents in the order they are sent, grouped by submission so that no id is repeated. */
export type JobMembers = readonly (readonly [submission: SubmissionId, documentIds: readonly string[]])[];

/** How much a part adds to a job. */
export interface PartWeight {
  readonly documentCount: number;
  readonly contexts: number;
  readonly payloadBytes: number;
  /** Bytes of the part's entry in the job's list. */
  readonly memberBytes: number;
  /** Maximum bytes that finalizing writes for the part: ids, and a number per context. */
  readonly outcomeBytes: number;
}

/** `[49999,-0.12345678901234568,""],` */
const OUTCOME_CONTEXT_BYTES = 32;
/** Bytes of the names, times and codes of an outcome, without ids. */
const OUTCOME_DOCUMENT_BYTES = 120;
const MEMBER_GROUP_BYTES = 50;

export function weighPart(part: PartMessage): PartWeight {
  let contexts = 0;
  let payloadBytes = 0;
  let memberBytes = MEMBER_GROUP_BYTES;
  let outcomeBytes = 0;
  for (const document of part.documents) {
    contexts += document.contexts.length;
    payloadBytes += document.bytes;
    const idBytes = utf8Length(JSON.stringify(document.id)) + 1;
    memberBytes += idBytes;
    outcomeBytes += idBytes + OUTCOME_DOCUMENT_BYTES + document.contexts.length * OUTCOME_CONTEXT_BYTES;
    if (document.context_ids !== undefined) outcomeBytes += utf8Length(JSON.stringify(document.context_ids));
  }
  return { documentCount: part.documents.length, contexts, payloadBytes, memberBytes, outcomeBytes };
}

/** How much a recorded document alone adds to a job. `contextIdBytes` are the bytes of its contexts' ids as JSON. */
export function weighDocument(document: {
  readonly id: string;
  readonly contexts: number;
  readonly payloadBytes: number;
  readonly contextIdBytes: number;
}): PartWeight {
  const { contexts, payloadBytes, contextIdBytes } = document;
  const idBytes = utf8Length(JSON.stringify(document.id)) + 1;
  const outcomeBytes = idBytes + OUTCOME_DOCUMENT_BYTES + contexts * OUTCOME_CONTEXT_BYTES + contextIdBytes;
  return { documentCount: 1, contexts, payloadBytes, memberBytes: MEMBER_GROUP_BYTES + idBytes, outcomeBytes };
}

/** How much a recorded job adds to a larger one, at most. `memberBytes` are the bytes of its list. */
export function weighMembers(job: Omit<PartWeight, "outcomeBytes"> & { readonly contextIdBytes: number }): PartWeight {
  const { contextIdBytes, ...weight } = job;
  const outcomeBytes =
    weight.memberBytes + weight.documentCount * OUTCOME_DOCUMENT_BYTES + weight.contexts * OUTCOME_CONTEXT_BYTES;
  return { ...weight, outcomeBytes: outcomeBytes + contextIdBytes };
}

/** `{"requests":[]}` */
const PAYLOAD_FRAME_BYTES = 15;
const EMPTY: PartWeight = {
  documentCount: 0,
  contexts: 0,
  payloadBytes: PAYLOAD_FRAME_BYTES,
  memberBytes: 2,
  outcomeBytes: 0,
};

function sum(a: PartWeight, b: PartWeight): PartWeight {
  return {
    documentCount: a.documentCount + b.documentCount,
    contexts: a.contexts + b.contexts,
    payloadBytes: a.payloadBytes + b.payloadBytes,
    memberBytes: a.memberBytes + b.memberBytes,
    outcomeBytes: a.outcomeBytes + b.outcomeBytes,
  };
}

function fits(weight: PartWeight): boolean {
  return (
    weight.payloadBytes <= MAX_JOB_BYTES &&
    weight.documentCount <= MAX_JOB_DOCUMENTS &&
    weight.contexts <= MAX_JOB_CONTEXTS &&
    weight.memberBytes <= MAX_JOB_MEMBER_BYTES &&
    weight.outcomeBytes <= MAX_JOB_OUTCOME_BYTES
  );
}

/**
 * Packs parts of one model and lane into as few jobs as fit: first-fit, largest first. Within a job, parts keep the
 * given order.
 */
export function planJobs<Part extends { readonly weight: PartWeight }>(parts: readonly Part[]): Part[][] {
  const order = parts
    .map((part, index) => ({ part, index }))
    .toSorted((a, b) => b.part.weight.payloadBytes - a.part.weight.payloadBytes || a.index - b.index);
  const jobs: { weight: PartWeight; parts: { part: Part; index: number }[] }[] = [];
  for (const entry of order) {
    const job = jobs.find((candidate) => fits(sum(candidate.weight, entry.part.weight)));
    if (job === undefined) {
      jobs.push({ weight: sum(EMPTY, entry.part.weight), parts: [entry] });
    } else {
      job.weight = sum(job.weight, entry.part.weight);
      job.parts.push(entry);
    }
  }
  return jobs.map((job) => job.parts.toSorted((a, b) => a.index - b.index).map((entry) => entry.part));
}

/** Lists a job's documents in the order sent. A document's number is its index in the batch. */
export function listMembers(members: JobMembers): { readonly submission: SubmissionId; readonly document: string }[] {
  return members.flatMap(([submission, documents]) => documents.map((document) => ({ submission, document })));
}

/** Groups documents by submission, keeping their order. */
export function groupMembers(
  documents: readonly { readonly submission: SubmissionId; readonly document: string }[],
): JobMembers {
  const groups: [SubmissionId, string[]][] = [];
  for (const { submission, document } of documents) {
    const last = groups.at(-1);
    if (last !== undefined && last[0] === submission) last[1].push(document);
    else groups.push([submission, [document]]);
  }
  return groups;
}

/**
 * Splits a list into two pieces of nearly the same length. Splits it into three if its length is between 2^m and
 * 1½·2^m, because two pieces would then take one more level to reach single documents. Finding k bad ones among N this
 * way takes at most 2·k·log₂N + 2 calls.
 *
 * `batchesLeft` is how many more batches each document may be in, at least 1. If two or three pieces per level would
 * need more levels than that, there are more pieces. With one batch left, each document is alone.
 */
export function cut<T>(list: readonly T[], batchesLeft: number): T[][] {
  const power = 2 ** (Math.ceil(Math.log2(list.length)) - 1);
  let pieces = Math.min(list.length, list.length <= 1.5 * power ? 3 : 2);
  while (pieces ** batchesLeft < list.length) pieces += 1;
  const bounds = Array.from({ length: pieces + 1 }, (_, n) => Math.ceil((n * list.length) / pieces));
  return Array.from({ length: pieces }, (_, n) => list.slice(bounds[n], bounds[n + 1]));
}

/** Splits a list of two or more documents into halves. */
export function halve<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(list.length / 2);
  return [list.slice(0, middle), list.slice(middle)];
}
