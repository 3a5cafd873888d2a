import { MAX_PARAMETER_BYTES, mintJobId, utf8Length, type JobId } from "@sluice/core";
import { planJobs, weighDocument } from "../job/plan-jobs.ts";
import type { Database } from "@sluice/db";
import type { RequestedRetry, RetryKey } from "./sql/request-retry.ts";
import {
  endRetry,
  listFailed,
  listRetryParts,
  readRetry,
  readRetryParts,
  retryFailed,
  type FailedDocument,
  type RetryJob,
  type RetryPart,
  type RetryState,
} from "./sql/retry-failed.ts";

/** Maximum failed documents whose parts one step lists. */
const MAX_LISTED = 10_000;
/** Maximum parts, and documents of parts, that one step queues again. Of a larger root, all. */
const MAX_PARTS = 1_000;
const MAX_DOCUMENTS = 5_000;
/** Bytes of ids and punctuation around a job's list of documents. */
const JOB_FRAME_BYTES = 100;

export interface RetryContext {
  readonly db: Database;
  /** Milliseconds since the epoch, by D1's clock. */
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** The result of `continueRetry`. */
export interface RetriedSteps {
  /** Documents that the retry has queued so far; 0 if it was complete before. */
  readonly queued: number;
  /** Steps done. */
  readonly steps: number;
  readonly isComplete: boolean;
}

/**
 * Continues a retry for at most `maxSteps` steps of 12 statements each. Several Workers may do so at the same time. A
 * step lists parts with failed documents. Once all are listed, it queues the failed documents of the next roots: those
 * of a root together, in as few jobs as fit. Documents that fail again during the retry are left to another one.
 */
export async function continueRetry(context: RetryContext, key: RetryKey, maxSteps: number): Promise<RetriedSteps> {
  let state = await readRetry(context.db, key);
  if (state === null) return { queued: 0, steps: 0, isComplete: true };
  const retry = { ...key, token: state.token };
  let queued = state.queued;
  let steps = 0;
  const isSame = (next: RetryState | null): next is RetryState => next?.token === retry.token;
  while (isSame(state) && !isOver(state) && steps < maxSteps) {
    steps += 1;
    state =
      state.listedThrough === null
        ? await queueNext(context, retry, state)
        : await listRetryParts(context.db, retry, state.listedThrough, MAX_LISTED);
    if (isSame(state)) queued = state.queued;
  }
  // Complete, or ended by another Worker.
  if (!isSame(state)) return { queued, steps, isComplete: true };
  if (!isOver(state)) return { queued, steps, isComplete: false };
  await endRetry(context.db, retry);
  return { queued, steps, isComplete: true };
}

function isOver({ listedThrough, hasParts }: RetryState): boolean {
  return listedThrough === null && !hasParts;
}

async function queueNext(
  context: RetryContext,
  retry: RequestedRetry,
  { collection }: RetryState,
): Promise<RetryState | null> {
  const [first, ...others] = wholeRoots(await readRetryParts(context.db, retry, MAX_PARTS));
  // Another Worker was faster.
  if (first === undefined) return readRetry(context.db, retry);
  const failed = await listFailed(context.db, retry, collection, [first, ...others]);
  const { jobs, isPast } = planRetry(failed, context);
  const past = others.filter(({ root }) => isPast(root));
  return retryFailed(context.db, retry, collection, [first, ...past], jobs, context.now());
}

/** Takes the first parts of complete roots, up to `MAX_DOCUMENTS`; all parts of a larger root. */
function wholeRoots(parts: readonly RetryPart[]): RetryPart[] {
  const roots = [...Map.groupBy(parts, ({ root }) => root).values()];
  // The last root may have more parts than were read.
  const whole = parts.length === MAX_PARTS && roots.length > 1 ? roots.slice(0, -1) : roots;
  let documents = 0;
  const end = whole.findIndex((root, index) => {
    documents += root.reduce((sum, part) => sum + part.documentCount, 0);
    return index > 0 && documents > MAX_DOCUMENTS;
  });
  return whole.slice(0, end < 0 ? whole.length : end).flat();
}

/** Plans the jobs of the first roots that fit into one parameter of D1. Also returns whether a root is among those. */
function planRetry(
  failed: readonly FailedDocument[],
  context: RetryContext,
): { readonly jobs: RetryJob[]; readonly isPast: (root: JobId) => boolean } {
  const jobs: RetryJob[] = [];
  const left = new Set<JobId>();
  let bytes = 0;
  for (const [root, documents] of Map.groupBy(failed, (one) => one.root)) {
    const planned = planJobs(documents.map((one) => ({ ...one, weight: weighDocument({ ...one, id: one.document }) })));
    const size = planned.reduce((sum, job) => sum + JOB_FRAME_BYTES + listBytes(job), 0);
    if (left.size > 0 || (jobs.length > 0 && bytes + size > MAX_PARAMETER_BYTES)) {
      left.add(root);
      continue;
    }
    bytes += size;
    for (const job of planned) {
      jobs.push({
        id: mintJobId(context.now(), context.randomBytes(10)),
        root,
        documentIds: job.map((one) => one.document),
      });
    }
  }
  return { jobs, isPast: (root) => !left.has(root) };
}

function listBytes(documents: readonly FailedDocument[]): number {
  return documents.reduce((sum, { document }) => sum + utf8Length(JSON.stringify(document)) + 1, 0);
}
