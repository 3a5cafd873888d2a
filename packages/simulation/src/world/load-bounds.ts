import { versionKey, type Dispatch } from "../checks/state.ts";
import { MAX_LOAD_SERVICE_MS } from "./kinds.ts";
import { LOAD_MS } from "./load.ts";
import { MINUTE, type World } from "./world.ts";

/** The time for the calls of Workers, a few milliseconds each, including concurrent ones. */
const WORK_MS = 500;
/** By lane: a message's time in a queue, plus the `max_batch_timeout` in wrangler.jsonc. */
const QUEUED_MS: Readonly<Record<string, number>> = { interactive: 3_000 + 1_000, bulk: 3_000 + 5_000 };
/** An event's time to the poller: it is sent within half a second, and then waits in its queue as long as a message. */
const EVENT_MS = 500 + 3_000 + 1_000;
/** The interval between poller runs. Cron fires at most half a second late. */
const RUN_MS = MINUTE + 500;
/** The extra delay of late cron runs, in seeds that have them. */
const LATE_MS = 50_000;
/** How long until a batch that a run of the chain found in progress is due again. Cron may fire just before. */
const CHAIN_WAIT_MS = 30_000;
/** How long the submit rate, 56 a minute here, delays merged jobs: at a load below the rate, and in a burst. */
const HELD_UP_MS = { steady: 15_000, burst: 45_000 };
/** The delay that Sluice promises to add at a steady load, at the 99th percentile. */
const MAX_ADDED_MS = 75_000;

/**
 * Checks that each document of a load is dispatched in time, that its scores follow the service's answer in time, and
 * that 99 of 100 documents of a steady load are scored as soon as promised. No document waits longer because others are
 * pushed too. With events, a document that is dispatched at once gets its scores 10 s after the service's time, or 14 s
 * in the lane `bulk`.
 */
export function boundPushToScore(world: World, isBurst: boolean): void {
  const waits: number[] = [];
  const lateMs = () => (world.faults.occurred.has("cron_late") ? LATE_MS : 0);
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
    if (now > scoredBy(dispatch)) tooLong("got its scores, measured from its answer,", now - dispatch.readyAt);
  };
  if (isBurst) return;
  world.timeline.after(LOAD_MS - 1, () => {
    const p99 = waits.toSorted((a, b) => a - b)[Math.ceil(waits.length * 0.99) - 1] ?? Infinity;
    if (p99 > MAX_LOAD_SERVICE_MS + MAX_ADDED_MS + lateMs())
      world.fail(`one of a hundred documents got its scores more than ${Math.round(p99 / 1_000)} s after its push`);
  });
}
