import { makeDocuments, SMALL } from "../documents.ts";
import { VirtualWorld } from "../virtual/world.ts";

/** Seconds from accepted to queryable for the documents of one stream. */
export interface Freshness extends FreshnessCase {
  readonly documents: number;
  readonly p50: number;
  readonly p99: number;
  /** Seconds until the last document of the backlog, or of the stream, was done. */
  readonly allDone: number;
}

/** A stream of pushes into the interactive lane, delivered as configured. */
export interface FreshnessCase {
  readonly kind: "freshness";
  readonly documentsPerSecond: number;
  /** Documents per push. */
  readonly push: number;
  readonly minutes: number;
  /** Seconds that Workers AI takes for a batch. */
  readonly serviceSeconds: number;
  readonly events: boolean;
  /** Documents pushed to the bulk lane just before. */
  readonly backlog: number;
}

const SECOND_MS = 1_000;
const BACKLOG_PUSH = 50_000;
const MAX_HOURS = 12;

/** Milliseconds between the backlog and the stream, so that the stream meets the backlog. */
const HEAD_START = 30 * SECOND_MS;

export async function measureFreshness(one: FreshnessCase): Promise<Freshness> {
  const world = new VirtualWorld({ serviceTime: one.serviceSeconds * SECOND_MS, events: one.events });
  const start = one.backlog > 0 ? HEAD_START : 0;
  for (let from = 0; from < one.backlog; from += BACKLOG_PUSH) {
    world.pushAt(0, "bulk", makeDocuments(SMALL, Math.min(BACKLOG_PUSH, one.backlog - from), 21, `backlog-${from}-`));
  }
  const documents = makeDocuments(SMALL, Math.round(one.documentsPerSecond * one.minutes * 60), 22, "stream-");
  for (let first = 0; first < documents.length; first += one.push) {
    // Out of phase with cron.
    const time = start + ((first + one.push / 3) / one.documentsPerSecond) * SECOND_MS;
    world.pushAt(time, "interactive", documents.slice(first, first + one.push));
  }
  const all = documents.length + one.backlog;
  await world.run(MAX_HOURS * 3_600 * SECOND_MS, () => world.endedAt.size >= all);
  const waits = documents
    .map(({ id }) => (world.endedAt.get(id) ?? Infinity) - (world.acceptedAt.get(id) ?? Infinity))
    .toSorted((a, b) => a - b);
  return {
    ...one,
    documents: documents.length,
    p50: percentile(waits, 0.5) / SECOND_MS,
    p99: percentile(waits, 0.99) / SECOND_MS,
    allDone: world.elapsed / SECOND_MS,
  };
}

/** The quantile of `sorted` at `share`. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
