import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

const SWEEP_INTERVAL_MS = 5 * MINUTE;

/** A poller as cron sees it. */
export interface Cron {
  /** Whether a run at this time would find something to do. */
  readonly isDue: (time: number) => boolean;
  readonly poll: () => void;
}

/**
 * Fires a poller while there is trouble: every minute, or not, or twice, or late. Runs that would find
 * nothing to do are mostly left out: they are one query each.
 */
export function fireUntil(world: World, cron: Cron, end: number): void {
  const { faults, random, timeline } = world;
  const next = (Math.floor(timeline.now / MINUTE) + 1) * MINUTE;
  if (next >= end) return;
  timeline.at(next, () => {
    const isSweep = next % SWEEP_INTERVAL_MS < MINUTE;
    if (cron.isDue(next) || (isSweep && random.chance(0.2)) || random.chance(0.02)) {
      if (!faults.strikes("cron_missed")) {
        const late = faults.strikes("cron_late") ? random.int(1_000, 50_000) : random.int(0, 500);
        timeline.after(late, cron.poll);
        if (faults.strikes("cron_doubled")) timeline.after(late + random.int(0, 3_000), cron.poll);
      }
    }
    fireUntil(world, cron, end);
  });
}

/** Sluice's poller. */
export function cronOf(world: World, stack: Stack): Cron {
  const { mirror } = world;
  return { isDue: (time) => mirror.nextDue() <= time + world.d1Clock.ahead, poll: () => stack.poll() };
}

/** When the poller has something to do next: a job that is due, or a submission that stands still. */
export function nextRun(world: World): number {
  const { mirror, timeline } = world;
  const soonest = timeline.now + 1;
  const due = Math.max(soonest, mirror.nextDue() - world.d1Clock.ahead);
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
