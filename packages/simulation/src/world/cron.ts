import { nextDue } from "../checks/next-due.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

const SWEEP_INTERVAL_MS = 5 * MINUTE;

/** A poller, as seen by cron. */
export interface Cron {
  /** Whether a run at this time would have work. */
  readonly isDue: (time: number) => boolean;
  readonly poll: () => void;
}

/**
 * Fires a poller every minute while faults last; a run may be missed, doubled or late. Most runs without work are
 * skipped: each is a single query.
 */
export function fireUntil(world: World, cron: Cron, end: number): void {
  const { faults, random, timeline } = world;
  const next = (Math.floor(timeline.now / MINUTE) + 1) * MINUTE;
  if (next >= end) return;
  timeline.at(next, () => {
    const isSweep = next % SWEEP_INTERVAL_MS < MINUTE;
    if (cron.isDue(next) || (isSweep && (faults.forgets || random.chance(0.2))) || random.chance(0.02)) {
      if (!faults.strikes("cron_missed")) {
        const late = faults.strikes("cron_late") ? random.int(1_000, 50_000) : random.int(0, 500);
        timeline.after(late, cron.poll);
        if (faults.strikes("cron_doubled")) timeline.after(late + random.int(0, 3_000), cron.poll);
      }
    }
    fireUntil(world, cron, end);
  });
}

/** Returns the cron of Sluice's poller. */
export function cronOf(world: World, stack: Stack): Cron {
  const { mirror } = world;
  return {
    isDue: (time) => world.room.isWatched || nextDue(mirror) <= time + world.d1Clock.ahead,
    poll: () => stack.poll(),
  };
}

/** Returns when the poller next has work: a due job, a stalled submission or another limit. */
export function nextRun(world: World): number {
  const { mirror, room, timeline } = world;
  const soonest = timeline.now + 1;
  if (room.isWatched) return ceil(soonest, MINUTE);
  const due = Math.max(soonest, nextDue(mirror) - world.d1Clock.ahead);
  const sweep = Math.max(soonest, nextSweep(world) - world.d1Clock.ahead);
  return Math.min(ceil(due, MINUTE), ceil(sweep, SWEEP_INTERVAL_MS));
}

function nextSweep({ mirror }: World): number {
  let time = Infinity;
  for (const { row } of mirror.submissions.values()) {
    if (row.closed_at === null) time = Math.min(time, row.active_at + 60 * MINUTE);
    else if (row.recorded + row.lost < row.total) time = Math.min(time, row.active_at + 8.5 * 24 * 60 * MINUTE);
  }
  if (mirror.retries.size > 0) time = 0;
  for (const stagedAt of mirror.staged.values()) time = Math.min(time, stagedAt + 10 * MINUTE);
  return time;
}

function ceil(time: number, unit: number): number {
  return Math.ceil(time / unit) * unit;
}
