import { dispatchLease, STUCK_AFTER_MINUTES } from "@sluice/pipeline/job/schedule.ts";
import { MAX_JOB_DOCUMENTS, MAX_ROUNDS } from "@sluice/core";
import { MAX_BATCHES } from "../limits.ts";
import { MAX_HALVINGS } from "@sluice/pipeline/job/after-refusal.ts";
import { RUN_INTERVAL_MS } from "../run-interval.ts";
import { MAX_CLOCK_SKEW, type WorkerName } from "../world/caller.ts";
import type { JobRow } from "./changes.ts";
import { isOpen, type Dispatch, type Job, type JobOrigin, type Submission, type VersionKey } from "./state.ts";

const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ["pending", "dispatching", "canceled", "failed", "split", "merged"],
  dispatching: ["dispatching", "dispatched", "pending", "split", "failed", "canceled"],
  dispatched: ["dispatched", "pending", "succeeded", "split", "failed"],
};

interface Known {
  readonly now: number;
  /** Returns how far D1's clock was adjusted since this world time, in milliseconds. */
  readonly clockSetSince: (time: number) => number;
  /** The Worker that made the transaction. */
  readonly worker: WorkerName;
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly jobs: ReadonlyMap<string, Job>;
}

/** Returns the flaw in a job's change from its known row to `row`, or `null`. */
export function jobFlaw(job: Job, row: JobRow, list: readonly VersionKey[], known: Known): string | null {
  const before = job.row;
  const { id } = row;
  const miscounted = countFlaw(before, row) ?? batchesFlaw(job, row);
  if (miscounted !== null) return miscounted;
  if (!(NEXT[before.status] ?? []).includes(row.status)) return `${id} went from ${before.status} to ${row.status}`;
  if (before.status === "pending" && (row.status === "failed" || row.status === "split")) return usedUpFlaw(row, list);
  if (row.status === "merged") return mergeFlaw(job, row, known.jobs);
  if (row.dispatch_number > before.dispatch_number) return startFlaw(job, row, list, known);
  if (row.dispatch_number < before.dispatch_number) return `${id} went back to dispatch ${row.dispatch_number}`;
  const early = earlyDueFlaw(before, row, list, known);
  if (early !== null) return early;
  const dispatch = job.dispatches.get(row.dispatch_number);
  // If the job is pending again or empty, its list is no longer the list of that dispatch.
  if (
    row.members !== before.members &&
    before.status !== "pending" &&
    row.status !== "pending" &&
    row.status !== "canceled"
  ) {
    return `the list of ${id} differs from the one that dispatch ${row.dispatch_number} sent`;
  }
  if (dispatch === undefined)
    return isOpen(row.status) || row.status === "canceled" ? null : `${id} ended without a dispatch`;
  if (row.status === before.status) return null;
  return changeFlaw(job, dispatch, row, known);
}

/** Checks that a request makes a waiting job due early only if a pause held it, or if a document of it is canceled. */
function earlyDueFlaw(before: JobRow, row: JobRow, list: readonly VersionKey[], known: Known): string | null {
  const { submissions, worker } = known;
  const waits = before.status === "pending" && row.status === "pending" && before.paused_by === null;
  if (worker !== "producer" || !waits || (row.due_at ?? 0) >= (before.due_at ?? 0)) return null;
  return list.some((key) => isCanceled(key, submissions))
    ? null
    : `${row.id} is due at ${row.due_at}, before its due time ${before.due_at}`;
}

/** Checks that a pause does not delay a cancellation. `before` is `null` if the job is new. */
export function holdFlaw(
  before: JobRow | null,
  row: JobRow,
  list: readonly VersionKey[],
  { now, submissions }: Pick<Known, "now" | "submissions">,
): string | null {
  // A claim lasts at most as long as a lease.
  const isBeyondLease = (row.due_at ?? 0) > now + dispatchLease(RUN_INTERVAL_MS) + MAX_CLOCK_SKEW;
  const isNewlyHeld = row.paused_by !== null && isBeyondLease && row.due_at !== before?.due_at;
  const canceled = isNewlyHeld ? list.find((key) => isCanceled(key, submissions)) : undefined;
  return canceled === undefined ? null : `${row.id} is held by ${row.paused_by} with ${canceled}, which is canceled`;
}

function isCanceled(key: VersionKey, submissions: Known["submissions"]): boolean {
  return submissions.get(key.slice(0, key.indexOf("\n")))?.row.cancel_requested_at != null;
}

/**
 * Checks that a dispatch without an answer is counted once, and that an accepted batch resets the consecutive refusals.
 */
function countFlaw(before: JobRow, row: JobRow): string | null {
  const { id } = row;
  for (const name of ["refusals", "unconfirmed_dispatches", "repeated_dispatches"] as const) {
    const more = row[name] - before[name];
    if (more > 1 || (more < 0 && name !== "refusals")) return `${id} went from ${before[name]} to ${row[name]} ${name}`;
    const ends = row.dispatch_number > before.dispatch_number || row.status !== before.status;
    if (more === 1 && (before.status === "pending" || !ends))
      return `${id} counts ${name} again, but no dispatch ended`;
  }
  return row.status === "dispatched" && row.refusals > 0
    ? `${id} was accepted but still counts ${row.refusals} consecutive refusals`
    : null;
}

/** Checks that a batch counts from the start of its dispatch until the service is known to have refused it. */
function batchesFlaw(job: Job, row: JobRow): string | null {
  const { row: before, dispatches } = job;
  const change = row.batches - before.batches;
  const changed = `${row.id} went from ${before.batches} to ${row.batches} batches`;
  if (row.dispatch_number > before.dispatch_number)
    return change === (row.status === "canceled" ? 0 : 1) ? null : changed;
  if (change === 0) return null;
  if (change !== -1 || before.status !== "dispatching" || row.status === "dispatching") return changed;
  return dispatches.get(row.dispatch_number)?.requestId === null
    ? null
    : `${changed}, but the service accepted the last`;
}

/**
 * Checks that a job ends without another dispatch only if its documents have no batch left, or must each have their
 * last batch alone.
 */
function usedUpFlaw({ id, status, batches }: JobRow, list: readonly VersionKey[]): string | null {
  if (status === "failed" ? batches >= MAX_BATCHES : batches === MAX_BATCHES - 1 && list.length > 1) return null;
  return `${id} ${status} while pending, after ${batches} batches`;
}

/**
 * Checks that a job is merged into a similar one that now holds its documents, and that neither was dispatched or is a
 * piece.
 */
function mergeFlaw({ row: before, list, origin }: Job, row: JobRow, jobs: ReadonlyMap<string, Job>): string | null {
  const target = row.merged_into === null ? undefined : jobs.get(row.merged_into);
  if (target === undefined || !isOpen(target.row.status)) return `${row.id} is merged into a job that is not open`;
  const what = `${row.id} (${origin}) is merged into ${target.row.id} (${target.origin})`;
  if (origin === "piece" || target.origin === "piece") return `${what}: a piece`;
  if (before.dispatch_number > 0 || target.row.dispatch_number > 0) return `${what}, but one of them was dispatched`;
  if (before.paused_by !== null || target.row.paused_by !== null) return `${what}, but one of them is held`;
  for (const name of ["lane", "round", "batches", "halvings"] as const) {
    if (before[name] !== target.row[name]) return `${what}: ${name} ${before[name]} and ${target.row[name]}`;
  }
  if (target.list.length > MAX_JOB_DOCUMENTS) return `${what}, which then holds ${target.list.length} documents`;
  return list.every((key) => target.list.includes(key)) ? null : `${what}, which lacks some of its documents`;
}

function startFlaw(job: Job, row: JobRow, list: readonly VersionKey[], known: Known): string | null {
  const { now, submissions, clockSetSince } = known;
  const { id } = row;
  if (row.dispatch_number !== job.row.dispatch_number + 1) return `${id} skipped a dispatch`;
  if (row.status !== "dispatching" && row.status !== "canceled")
    return `${id} started dispatch ${row.dispatch_number} as ${row.status}`;
  const started = new Set(list.map((key) => key.slice(0, key.indexOf("\n"))));
  for (const submission of started) {
    if (submissions.get(submission)?.row.cancel_requested_at != null)
      return `${id} sends documents of ${submission}, which is canceled`;
  }
  if (list.some((key) => !job.list.includes(key))) return `${id} sends documents that were not in its list`;
  if (job.row.status === "pending") return null;
  if (job.row.status === "dispatched") return `${id} started a dispatch, but the previous one has a request_id`;
  const last = job.dispatches.get(job.row.dispatch_number);
  if (last === undefined || !last.by.isRunning) return null;
  const lasted = now - last.startedAt;
  const lease = dispatchLease(RUN_INTERVAL_MS) - MAX_CLOCK_SKEW - clockSetSince(last.by.startedAt);
  if (lasted >= lease) return null;
  return `${id} was taken from a Worker after only ${lasted} ms: its lease had not expired`;
}

function changeFlaw({ row: before }: Job, dispatch: Dispatch, row: JobRow, known: Known): string | null {
  const { now, jobs } = known;
  const { id } = row;
  const { reported } = dispatch;
  switch (row.status) {
    case "dispatched":
      return dispatch.requestId === row.request_id ? null : `${id} has a request_id of another dispatch`;
    case "succeeded":
      return reported.has("answered")
        ? null
        : `${id} succeeded under dispatch ${row.dispatch_number}, which was not answered`;
    case "split":
      return reported.has("invalid") || reported.has("shrink") ? null : halvingFlaw(dispatch, before, row, jobs);
    case "pending": {
      if (before.status === "dispatching" || reported.has("over")) return null;
      const waited = now - dispatch.startedAt;
      if (waited >= STUCK_AFTER_MINUTES * 60_000 - MAX_CLOCK_SKEW) return null;
      return `${id} was given up after ${waited} ms: its batch was neither stuck nor over`;
    }
    default:
      return null;
  }
}

/** Checks that a job is halved only after consecutive timeouts, while other jobs succeed. */
function halvingFlaw(dispatch: Dispatch, before: JobRow, row: JobRow, jobs: ReadonlyMap<string, Job>): string | null {
  if (row.unconfirmed_dispatches === before.unconfirmed_dispatches)
    return `${row.id} was split, but was not reported as invalid or too large`;
  if (before.halvings === 0 && (before.refusals === 0 || before.unconfirmed_dispatches === 0))
    return `${row.id} was halved at its first timeout`;
  const othersSucceed = [...jobs.values()].some(
    (other) =>
      other.row.id !== row.id &&
      [...other.dispatches.values()].some(
        ({ requestId, startedAt }) => requestId !== null && startedAt >= dispatch.startedAt,
      ),
  );
  return othersSucceed ? null : `${row.id} was halved, but no other job succeeds`;
}

export function originOf({ row }: Job, jobs: ReadonlyMap<string, Job>, isRetry: boolean): JobOrigin {
  if (row.parent_id === null) return "recorded";
  if (isRetry) return "retry";
  const parent = jobs.get(row.parent_id);
  if (parent?.row.status === "pending") return "kept_back";
  return parent?.row.status === "split" ? "piece" : "follow_up";
}

/** Whether a job was split because its submits timed out, without a reported reason. */
function wasHalved({ row, dispatches }: Job): boolean {
  const reported = dispatches.get(row.dispatch_number)?.reported;
  const isBeforeLast = row.batches === MAX_BATCHES - 1;
  return reported !== undefined && !reported.has("invalid") && !reported.has("shrink") && !isBeforeLast;
}

export function isPieceOfInvalid({ row, origin }: Job, jobs: ReadonlyMap<string, Job>): boolean {
  const parent = row.parent_id === null || origin === "retry" ? undefined : jobs.get(row.parent_id);
  if (parent === undefined) return false;
  const wasInvalid = parent.dispatches.get(parent.row.dispatch_number)?.reported.has("invalid") === true;
  return parent.isPieceOfInvalid || (origin === "piece" && wasInvalid);
}

/** Returns the flaw in a newly recorded job, or `null`. */
export function newJobFlaw({ origin, row, list }: Job, jobs: ReadonlyMap<string, Job>): string | null {
  const { id, round } = row;
  if (list.length === 0) return `${id} was recorded without documents`;
  if (new Set(list).size < list.length) return `${id} holds a document twice`;
  const parent = row.parent_id === null ? undefined : jobs.get(row.parent_id);
  if (parent === undefined)
    return row.parent_id === null && round === 1 ? null : `${id} has no parent and is in round ${round}`;
  if (origin !== "retry" && row.batches !== parent.row.batches)
    return `${id} (${origin}) counts ${row.batches} batches, but its parent ${parent.row.batches}`;
  const halved = origin === "retry" ? row.halvings : row.halvings - parent.row.halvings;
  const mayBeHalf = origin === "piece" && row.halvings <= MAX_HALVINGS;
  if (halved !== 0 && !(mayBeHalf && halved === 1 && list.length >= Math.floor(parent.list.length / 2)))
    return `${id} (${origin}) was halved ${row.halvings} times, but its parent ${parent.row.halvings}`;
  if (halved === 0 && origin === "piece" && wasHalved(parent))
    return `${id} is half of a job that timed out, but does not count the halving`;
  const expected = {
    recorded: 1,
    retry: 1,
    kept_back: parent.row.round,
    piece: parent.row.round,
    follow_up: parent.row.round + 1,
  }[origin];
  if (round > MAX_ROUNDS) return `${id} (${origin}) waits for answer ${round}, of ${MAX_ROUNDS}`;
  if (round !== expected)
    return `${id} (${origin}) is in round ${round}, not ${expected}: its parent is ${parent.row.status}`;
  // A parent no longer lists documents that were held back. Retried documents may come from any ancestor.
  if (origin === "kept_back" || origin === "retry") return null;
  return list.every((key) => parent.list.includes(key))
    ? null
    : `${id} (${origin}) holds documents that its parent lacks`;
}

/** Returns the flaw in a job's lane, or `null`. All its documents must have been pushed into that lane. */
export function laneFlaw({ row, list }: Job, laneOf: (key: VersionKey) => string | undefined): string | null {
  const misplaced = list.find((key) => laneOf(key) !== row.lane);
  return misplaced === undefined
    ? null
    : `${row.id} is in the lane ${row.lane}, but ${misplaced} was pushed into ${laneOf(misplaced)}`;
}

/** Whether a dispatch ended that Workers AI is known to have refused. */
export function wasRefused(before: JobRow, row: JobRow): boolean {
  const ended = before.status === "dispatching" && !["dispatching", "dispatched"].includes(row.status);
  return (
    ended &&
    row.dispatch_number === before.dispatch_number &&
    row.unconfirmed_dispatches === before.unconfirmed_dispatches
  );
}
