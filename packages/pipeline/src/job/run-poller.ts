import { dispatchLease, pollWaits } from "./schedule.ts";
import { isSweepDue } from "../submission/lifetimes.ts";
import { uuidTail } from "@sluice/core";
import { isDatabaseFull } from "@sluice/db";
import { claimAtStart, claimDueJobs, type DispatchedJob, type UndispatchedJob } from "./sql/claim-due-jobs.ts";
import { describeError } from "../platform/describe-error.ts";
import { endChain, handOnChain } from "./sql/poller-chain.ts";
import { readPauses } from "./sql/pause-dispatching.ts";
import { timeAfter, type Time } from "../platform/clock.ts";
import { dispatchBytes } from "../platform/memory.ts";
import { holdPaused } from "./keep-back-paused.ts";
import { mergePending } from "./merge-pending.ts";
import { withDatabaseClock } from "../platform/database-clock.ts";
import { logSilence, raiseAlerts } from "../platform/raise-alerts.ts";
import { continueDeletions, DELETIONS_STATEMENTS } from "../submission/continue-deletions.ts";
import { continueRetries, RETRIES_STATEMENTS } from "../submission/continue-retries.ts";
import { dispatchJobs } from "./dispatch-jobs.ts";
import { runMaintenance } from "../submission/maintenance.ts";
import { RETENTION_STATEMENTS } from "../submission/retention-rules.ts";
import { pollJobs } from "./poll-jobs.ts";
import type { PendingAges } from "./poll-order.ts";
import type { PollerContext } from "./poller-context.ts";
import { ROOM_STATEMENTS, RoomKeeper } from "./room-keeper.ts";
import { RunBudget } from "./run-budget.ts";
export type { PollerContext } from "./poller-context.ts";

/** Dispatched jobs that one claim takes. */
const MAX_CLAIMED_POLLS = 300;
/** Jobs to be dispatched that one claim takes. A job that was never dispatched counts 1, any other 20. */
const MAX_CLAIMED_DISPATCHES = 1_000;
/** A run that claimed this many jobs continues the chain even if no job is due at its end. */
const MIN_CHAIN_JOBS = 100;
/**
 * A run of the chain that finds nothing due, and any run over the submit rate, looks again after the interval of runs
 * divided by this: five seconds, half of the submit burst, so no submit is missed.
 */
const CHAIN_LOOKS = 12;
/** Statements to claim, read the pauses and hold jobs. */
const CLAIM_STATEMENTS = 10;
/** Statements to continue or end a chain. */
const CHAIN_STATEMENTS = 5;
/** Statements to weigh jobs, and to merge those of some models, lanes and rounds. */
const MERGE_STATEMENTS = 40;
/** Statements of one sweep of submissions. */
const SWEEP_STATEMENTS = 100;
/** How often a run begins, if the database is full. */
const MAX_TRIES_WHILE_FULL = 2;

/**
 * Runs the poller by cron: processes due jobs until none is left or its budget is used up. If D1 refuses a write because
 * the database is full, makes room and tries once more. What was not written is due again at a later run.
 */
export async function runPoller(context: PollerContext): Promise<void> {
  const budget = new RunBudget(context);
  const room = new RoomKeeper(context, budget);
  for (let tries = 1; tries <= MAX_TRIES_WHILE_FULL; tries += 1) {
    try {
      return await runOnce(context, budget, room);
    } catch (error) {
      if (!isDatabaseFull(error)) throw error;
      await room.makeRoom();
    }
  }
}

async function runOnce(context: PollerContext, budget: RunBudget, room: RoomKeeper): Promise<void> {
  const isSweep = isSweepDue(context.now(), context.runInterval);
  const unreserve = budget.reserve(
    RETRIES_STATEMENTS + ROOM_STATEMENTS + (isSweep ? SWEEP_STATEMENTS + RETENTION_STATEMENTS : 0),
  );
  const pausesEndedBy = timeAfter(context.databaseTime(), -context.runInterval);
  const { isRetrying, isDeleting } = await workThrough(context, budget, null, { pausesEndedBy, room });
  unreserve?.();
  if (isRetrying || isDeleting || isSweep) {
    const clocked = await withDatabaseClock(context);
    if (isRetrying) await continueRetries(clocked);
    if (isDeleting) await continueDeletions(clocked, budget, isSweep ? SWEEP_STATEMENTS : 0);
    if (isSweep) {
      // First, so that a failing maintenance does not hide what is wrong.
      await raiseAlerts(clocked, context.stuckAfter);
      await runMaintenance(clocked, budget);
    }
  }
  await room.end(isSweep);
}

/** What a cron run does with its first claim. */
interface FirstOfRun {
  readonly pausesEndedBy: Time;
  readonly room: RoomKeeper;
}

/**
 * Processes due jobs. If the budget of this invocation is too small, another invocation continues. A cron run (`holder`
 * is `null`) starts the chain as soon as it finds more due than one claim takes, and both work in parallel. A run of
 * the chain, or one over the submit rate, looks repeatedly until its time is up and continues in a fresh invocation if
 * the load lasts. So jobs that become due between two cron runs, or wait for the submit rate, need not wait for the
 * next cron run. Claims use D1's clock. A run that found due jobs reads it before it processes any. Returns whether the
 * first claim found a retry or a deletion in progress.
 */
export async function workThrough(
  isolate: PollerContext,
  budget: RunBudget,
  holder: string | null,
  firstOfRun: FirstOfRun | null,
): Promise<{ readonly isRetrying: boolean; readonly isDeleting: boolean }> {
  const startedAt = isolate.now();
  let context = isolate;
  let claimed = 0;
  let failed = 0;
  const state = {
    isContinued: false,
    isStopped: false,
    isIdle: false,
    isOverRate: false,
    wasOverRate: false,
    isRetrying: false,
    isDeleting: false,
  };
  const unreserveChain = budget.reserve(CHAIN_STATEMENTS);
  const ages: PendingAges = new Map();

  const claim = async (
    kind: { readonly polls: boolean; readonly dispatches: boolean },
    first: FirstOfRun | null = null,
  ) => {
    const [now, claimedAt] = [context.databaseTime(), isolate.now()];
    const limits = {
      polls: kind.polls ? MAX_CLAIMED_POLLS : 0,
      pollWaits: pollWaits(context.runInterval),
      dispatches: kind.dispatches ? MAX_CLAIMED_DISPATCHES : 0,
      payloadBytes: context.memory.free(context.now()) / dispatchBytes(1),
      leaseUntil: timeAfter(now, dispatchLease(context.runInterval)),
    };
    const started =
      first === null ? null : await claimAtStart(context.db, limits, now, first.pausesEndedBy, first.room.lastMeasured);
    if (started !== null) {
      [state.isRetrying, state.isDeleting] = [started.isRetrying, started.isDeleting];
      if (started.silentSince !== null) logSilence(context, started.silentSince);
      await first?.room.begin(started.size, started.levelBefore);
      // For the steps after this work.
      if (started.isDeleting) budget.reserve(DELETIONS_STATEMENTS);
    }
    const jobs = started?.jobs ?? (await claimDueJobs(context.db, limits, now));
    if (jobs.length > 0 && context === isolate) context = await withDatabaseClock(isolate);
    const leaseUntil = context.now() - (isolate.now() - claimedAt) + dispatchLease(context.runInterval);
    const polls = jobs.filter((job) => job.status === "dispatched");
    const waiting = jobs.filter((job) => job.status !== "dispatched");
    if (isFull(polls) && holder === null && !state.isContinued) {
      state.isContinued = true;
      await handOn(context, null);
    }
    return { polls, waiting, leaseUntil };
  };
  const pollAll = async (first: readonly DispatchedJob[]): Promise<void> => {
    for (let polls = first; polls.length > 0;) {
      claimed += polls.length;
      failed += await pollJobs(context, polls, budget, ages);
      const unreserve = budget.reserve(CLAIM_STATEMENTS);
      if (unreserve === null) return;
      ({ polls } = await claim({ polls: true, dispatches: false }));
      unreserve();
    }
  };
  const dispatchAll = async (first: readonly UndispatchedJob[], firstLease: number): Promise<void> => {
    let [waiting, leaseUntil] = [first, firstLease];
    while (waiting.length > 0) {
      const pauses = await readPauses(context.db, context.now());
      const free = pauses.length > 0 ? await holdPaused(context, waiting, pauses) : waiting;
      const unreserveMerge = budget.reserve(MERGE_STATEMENTS);
      const remaining = unreserveMerge === null ? free : await mergePending(context, free);
      unreserveMerge?.();
      claimed += remaining.length;
      const dispatched = await dispatchJobs(context, remaining, budget, leaseUntil, pauses);
      failed += dispatched.failed;
      // The rest is due now: for a later look of this run or, without capacity, for another run.
      state.isOverRate = dispatched.isOverRate;
      state.wasOverRate ||= dispatched.isOverRate;
      state.isStopped = dispatched.left > 0 && !dispatched.isOverRate;
      if (state.isStopped || state.isOverRate) return;
      const unreserve = budget.reserve(CLAIM_STATEMENTS);
      if (unreserve === null) return;
      ({ waiting, leaseUntil } = await claim({ polls: false, dispatches: true }));
      unreserve();
    }
  };

  // Each pass but the last makes jobs due for the other half: an abandoned batch is dispatched again.
  for (let isFirst = true; !state.isStopped && (isFirst || !budget.isUsedUp); isFirst = false) {
    // Jobs that wait for the submit rate are merged with jobs that arrive in the meantime.
    if (state.isOverRate) await context.sleep(context.runInterval / CHAIN_LOOKS);
    state.isOverRate = false;
    const { polls, waiting, leaseUntil } = await claim({ polls: true, dispatches: true }, isFirst ? firstOfRun : null);
    state.isIdle = polls.length + waiting.length === 0;
    if (state.isIdle) {
      if (holder === null && !state.wasOverRate) break;
      await context.sleep(context.runInterval / CHAIN_LOOKS);
      budget.reserve(CLAIM_STATEMENTS)?.();
      continue;
    }
    // If one half fails, the other finishes first: a call in progress would be cut off with this invocation.
    for (const half of await Promise.allSettled([pollAll(polls), dispatchAll(waiting, leaseUntil)]))
      if (half.status === "rejected") throw half.reason;
  }
  unreserveChain?.();
  if (budget.isUsedUp && (!state.isIdle || claimed >= MIN_CHAIN_JOBS)) {
    if (!state.isContinued) await handOn(context, holder);
  } else if (holder !== null) await endChain(context.db, holder);
  if (claimed > 0) context.log({ event: "poller_run", jobs: claimed, failed, milliseconds: isolate.now() - startedAt });
  return { isRetrying: state.isRetrying, isDeleting: state.isDeleting };
}

/** Whether a claim reached the limit of a lane, so more jobs are due. */
function isFull(polls: readonly DispatchedJob[]): boolean {
  const bulk = polls.filter(({ lane }) => lane === "bulk").length;
  return bulk >= MAX_CLAIMED_POLLS / 3 || polls.length - bulk >= (2 * MAX_CLAIMED_POLLS) / 3;
}

/** Continues in a fresh invocation. There is one chain at a time. If its message cannot be sent, the chain ends. */
async function handOn(context: PollerContext, holder: string | null): Promise<void> {
  const next = uuidTail(context.randomBytes(10));
  if (!(await handOnChain(context.db, holder, next, context.databaseTime()))) return;
  try {
    await context.continueLater(next);
  } catch (error) {
    context.log({ event: "chain_broke_off", ...describeError(error) });
    await endChain(context.db, next);
  }
}
