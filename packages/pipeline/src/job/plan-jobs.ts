import {
  MAX_JOB_BYTES,
  MAX_JOB_CONTEXTS,
  MAX_JOB_DOCUMENTS,
  MAX_JOB_MEMBER_BYTES,
  MAX_JOB_OUTCOME_BYTES,
  utf8Length,
} from "@sluice/core";
import type { PartMessage } from "../message/message.ts";

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
