import { versionKey, type Dispatch } from "../checks/state.ts";
import { MAX_LOAD_SERVICE_MS } from "./kinds.ts";
import { LOAD_MS } from "./load.ts";
import { MINUTE, type World } from "./world.ts";

/** Calls of Workers, each some milliseconds, with all that run beside them. */
const WORK_MS = 500;
/** A message's time in a queue, and the wait for others of its delivery as wrangler.jsonc has it for each lane. */
const QUEUED_MS: Readonly<Record<string, number>> = { interactive: 3_000 + 1_000, bulk: 3_000 + 5_000 };
/** An event's way to the poller: it is sent within half a second, and takes as long in its queue. */
const EVENT_MS = 500 + 3_000 + 1_000;
/** From one run of the poller to the next, which cron fires half a second late at most. */
const RUN_MS = MINUTE + 500;
/** By how much later it fires where a seed has such runs. */
const LATE_MS = 50_000;
/** A batch that a run of the chain finds in progress is due again after this, and cron may fire just before. */
const CHAIN_WAIT_MS = 30_000;
/** For how long the rate of submits, 56 in a minute here, holds up what is merged: of a load below it, and of a burst. */
const HELD_UP_MS = { steady: 15_000, burst: 45_000 };
/** What Sluice promises to add at a steady load, for 99 of 100 documents. */
const MAX_ADDED_MS = 75_000;

/**
 * Checks of each document of a load that it is dispatched in time, and that its scores follow the service's answer in
 * time; and that 99 of 100 documents of a steady load have theirs as soon as promised. None waits longer because others
 * are pushed too. Together a document that is dispatched at once gets its scores 10 s after the service's time, of the
 * lane `bulk` 14 s, where the service sends events.
 */
export function boundPushToScore(world: World, isBurst: boolean): void {
  const waits: number[] = [];
  const lateMs = () => (world.faults.met.has("cron_late") ? LATE_MS : 0);
  const dispatchedWithin = (lane: string, { by }: Dispatch): number => {
    const atOnce = (QUEUED_MS[lane] ?? 0) + WORK_MS;
    if (by.worker === "consumer") return atOnce;
    return atOnce + RUN_MS + lateMs() + HELD_UP_MS[isBurst ? "burst" : "steady"];
  };
  const scoredBy = ({ readyAt, takenAt }: Dispatch): number =>
    world.events.isOn
      ? readyAt + EVENT_MS + WORK_MS
      : takenAt + MAX_LOAD_SERVICE_MS + CHAIN_WAIT_MS + RUN_MS + lateMs() + WORK_MS;

  world.onScored = (submission, document) => {
    const { now } = world.timeline;
    const version = world.mirror.version(versionKey(submission, document));
    const dispatch = [...(version?.dispatches ?? [])].findLast(({ reported }) => reported.has("answered"));
    const acceptedAt = world.mirror.submissions.get(submission)?.heldSince;
    if (version === null || dispatch === undefined || acceptedAt === undefined)
      return world.fail(`${document} of ${submission} got scores without an answer`);
    waits.push(now - acceptedAt);
    const tooLong = (what: string, milliseconds: number) =>
      world.fail(`${document} of ${submission} ${what} after ${Math.round(milliseconds / 1_000)} s`);
    const dispatched = dispatch.takenAt - acceptedAt;
    if (dispatched > dispatchedWithin(version.content.lane, dispatch)) tooLong("was dispatched", dispatched);
    if (now > scoredBy(dispatch)) tooLong("got its scores, its answer ready,", now - dispatch.readyAt);
  };
  if (isBurst) return;
  world.timeline.after(LOAD_MS - 1, () => {
    const p99 = waits.toSorted((a, b) => a - b)[Math.ceil(waits.length * 0.99) - 1] ?? Infinity;
    if (p99 > MAX_LOAD_SERVICE_MS + MAX_ADDED_MS + lateMs())
      world.fail(`one of a hundred documents got its scores later than ${Math.round(p99 / 1_000)} s after its push`);
  });
}
