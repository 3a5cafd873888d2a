import type { StatsShape } from "@sluice/producer/src/shapes/stats.ts";
import { Reader } from "../world/reader.ts";
import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import { MINUTE, type World } from "../world/world.ts";
import { isOpen, type Submission } from "./state.ts";
import { handlerOf } from "../world/handlers.ts";

const getStats = handlerOf("getStats");

/** Returns the flaw in `GET /v1/stats`, or `null`. Recomputes everything in it from each document and job. */
export async function statsFlaw(world: World): Promise<string | null> {
  const { status, body } = await new Reader(world).get(getStats, "/v1/stats");
  if (status !== 200) return `stats are answered with ${status}`;
  const stats = body as unknown as StatsShape;
  const shown = {
    lanes: stats.lanes,
    backlog: stats.backlog,
    oldest: stats.oldest_waiting_at,
    malformed: stats.malformed_messages,
    usage: stats.usage,
    lost: stats.failures["message_lost"] ?? 0,
  };
  const [inApi, expected] = [JSON.stringify(shown), JSON.stringify(expectedStats(world))];
  if (inApi !== expected) return `stats are ${inApi}, expected ${expected}`;
  return failuresFlaw(world, stats.failures) ?? throughputFlaw(world, stats.throughput);
}

/**
 * Checks the number of documents that ended within the last minutes. A Worker's clock may be off, and D1 may record an
 * end late. A deleted or canceled document may or may not be counted.
 */
function throughputFlaw({ mirror, d1Clock }: World, shown: StatsShape["throughput"]): string | null {
  if (d1Clock.setSince(0) > 0) return null;
  const versions = [...mirror.versions.values()];
  const uncertain = versions.filter(({ deleted, outcome }) => deleted || outcome?.status === "canceled").length;
  for (const [name, minutes] of [
    ["last_5_minutes", 5],
    ["last_hour", 60],
  ] as const) {
    const since = d1Clock.now() - minutes * MINUTE - MAX_CLOCK_SKEW;
    const most = versions.flatMap(({ endedAt }) => endedAt).filter((time) => time >= since).length + uncertain;
    if (shown[name] > most) return `stats count ${shown[name]} documents in ${name}, but at most ${most} ended`;
  }
  return null;
}

function expectedStats({ mirror, sqlite }: World): object {
  const submissions = [...mirror.submissions.values()];
  const byLane = (lane: string) => countsOf(submissions.filter(({ row }) => row.lane === lane));
  const lanes = { interactive: byLane("interactive"), bulk: byLane("bulk") };
  const jobs = [...mirror.jobs.values()].map(({ row }) => row);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const unconfirmed = sum(jobs.map((row) => row.unconfirmed_dispatches));
  const repeated = sum(jobs.map((row) => row.repeated_dispatches));
  // A canceled job counts if it may have been paid for.
  const used = jobs.filter(
    ({ status, unconfirmed_dispatches: lost, repeated_dispatches: given }) =>
      ["succeeded", "failed", "split"].includes(status) || (status === "canceled" && lost + given > 0),
  );
  const open = submissions.filter(({ row }) => row.completed_at === null).map(({ row }) => row.created_at);
  return {
    lanes,
    backlog: {
      documents: sum(Object.values(lanes).map(({ queued, processing }) => queued + processing)),
      jobs: jobs.filter(({ status }) => isOpen(status)).length,
    },
    oldest: open.length === 0 ? null : new Date(Math.min(...open)).toISOString(),
    malformed: Number(sqlite.rows("SELECT count(*) AS count FROM malformed_messages")[0]?.["count"]),
    usage: {
      tokens: sum(jobs.map((row) => row.tokens ?? 0)),
      jobs: used.length,
      unconfirmed_dispatches: unconfirmed,
      repeated_dispatches: repeated,
    },
    lost: sum(submissions.map(({ row }) => row.lost)),
  };
}

export interface Counts {
  queued: number;
  processing: number;
  succeeded: number;
  failed: number;
  canceled: number;
}

/** Sums the counts of submissions. */
export function countsOf(submissions: readonly Submission[]): Counts {
  const counts = { queued: 0, processing: 0, succeeded: 0, failed: 0, canceled: 0 };
  for (const { row, recorded, succeeded, failed, canceled } of submissions) {
    counts.queued += row.total - recorded - row.lost;
    counts.processing += recorded - succeeded - failed - canceled;
    counts.succeeded += succeeded;
    counts.failed += failed + row.lost;
    counts.canceled += canceled;
  }
  return counts;
}

/** Checks the failures by code. A deleted one is counted only if it was already in the sums. */
function failuresFlaw({ mirror }: World, shown: Readonly<Record<string, number>>): string | null {
  const least = new Map<string, number>();
  const most = new Map<string, number>();
  for (const { outcome, deletedFailures, forgottenFailures } of mirror.versions.values()) {
    const counted = outcome?.status === "failed" ? [outcome.code ?? "", ...forgottenFailures] : forgottenFailures;
    for (const code of counted) least.set(code, (least.get(code) ?? 0) + 1);
    for (const failure of [...counted, ...deletedFailures]) most.set(failure, (most.get(failure) ?? 0) + 1);
  }
  for (const code of new Set([...most.keys(), ...Object.keys(shown)])) {
    const count = shown[code] ?? 0;
    if (code === "message_lost") continue;
    if (count < (least.get(code) ?? 0) || count > (most.get(code) ?? 0))
      return `stats count ${count} failed as ${code}, expected ${least.get(code) ?? 0}, or ${most.get(code) ?? 0} with deleted ones`;
  }
  return null;
}
