import { makeDocuments, MIDDLE, SMALL, type BenchDocument } from "../documents.ts";
import type { WorkerName, WorkerUse } from "../virtual/invocations.ts";
import { VirtualWorld } from "../virtual/world.ts";
import { percentile } from "./freshness.ts";

/** Small: one document of 0.3 KB. Full: as much as a job may hold. */
export type JobSize = "small" | "full";

/** A steady load. Each push is delivered alone, so that it becomes one job. */
export interface LoadCase {
  readonly kind: "load";
  readonly events: boolean;
  readonly jobs: JobSize;
  readonly jobsPerMinute: number;
  readonly minutes: number;
  /** Seconds that Workers AI takes for a batch. */
  readonly serviceSeconds: number;
}

/** The result of a load. Times are from accepted to queryable, in seconds. */
export interface Load extends LoadCase {
  /** Jobs per minute, of those accepted in the load's second half, that got their scores within it. */
  readonly endedPerMinute: number;
  readonly p50: number;
  readonly p99: number;
  /** By the quarter of the load in which the documents were accepted: constant or growing. */
  readonly p99ByQuarter: readonly number[];
  /** The median of those that got their scores in the load's last minute. */
  readonly last: number;
  /** Documents without scores some minutes after the load. They count as if they got scores at that time. */
  readonly open: number;
  readonly use: PlatformUse;
}

/** Platform usage. */
export interface PlatformUse {
  readonly submits: number;
  readonly maxSubmitsPerMinute: number;
  readonly polls: number;
  readonly workers: Readonly<Record<WorkerName, WorkerUse>>;
}

const SECOND_MS = 1_000;
const MINUTE = 60 * SECOND_MS;
/** Seconds that a load may add to the service's time, and extra seconds to wait for late documents. */
export const MAX_ADDED_SECONDS = 75;
const LATE_SECONDS = 120;

/**
 * A delivery of one message. Small jobs use Queues' maximum concurrency. A full job comes from a full delivery, with
 * the concurrency of the configuration.
 */
const ALONE = {
  small: { batchSize: 1, batchTimeout: 0, concurrency: 250 },
  full: { batchSize: 1, batchTimeout: 0 },
};

/** Full jobs come from backfills. */
const LANE = { small: "interactive", full: "bulk" } as const;

/** Documents in a full job, and how many documents each represents: 9.3 MB. */
const FULL = { documents: 20, scale: 310 };

export async function measureLoad(one: LoadCase): Promise<Load> {
  const { jobs, jobsPerMinute, minutes, serviceSeconds } = one;
  const world = new VirtualWorld({
    serviceTime: serviceSeconds * SECOND_MS,
    events: one.events,
    delivery: ALONE[jobs],
    scale: jobs === "full" ? FULL.scale : 1,
  });
  const end = minutes * MINUTE;
  const firsts = pushEvenly(world, jobs, Math.round(jobsPerMinute * minutes), MINUTE / jobsPerMinute);
  await world.run(end);
  const waits = (ids: readonly string[]) =>
    ids
      .map((id) => (world.endedAt.get(id) ?? world.elapsed) - (world.acceptedAt.get(id) ?? world.elapsed))
      .map((wait) => wait / SECOND_MS)
      .toSorted((a, b) => a - b);
  const endedFrom = (time: number) => firsts.filter((id) => (world.endedAt.get(id) ?? 0) > time);
  const endedPerMinute = endedFrom(end / 2).length / (minutes / 2);
  const last = percentile(waits(endedFrom(end - MINUTE)), 0.5);
  const isDone = () => world.endedAt.size >= world.acceptedAt.size * (jobs === "full" ? FULL.documents : 1);
  await world.run(end + (serviceSeconds + MAX_ADDED_SECONDS + LATE_SECONDS) * SECOND_MS, isDone);
  const sorted = waits(firsts);
  const quarter = Math.ceil(firsts.length / 4);
  return {
    ...one,
    endedPerMinute,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p99ByQuarter: [0, 1, 2, 3].map((index) =>
      percentile(waits(firsts.slice(index * quarter, (index + 1) * quarter)), 0.99),
    ),
    last,
    open: firsts.filter((id) => !world.endedAt.has(id)).length,
    use: platformUse(world),
  };
}

/** Jobs that all become due at once: recorded during a pause that then ends, or done while cron did not run. */
export interface BacklogCase {
  readonly kind: "backlog";
  readonly events: boolean;
  readonly jobs: number;
  readonly of: "undispatched" | "unpolled";
  readonly serviceSeconds: number;
}

export interface Backlog extends BacklogCase {
  /** Minutes from the time they became due to the last scores. */
  readonly minutes: number;
  readonly endedPerMinute: number;
  readonly use: PlatformUse;
}

const PUSHES_PER_SECOND = 100;
const MAX_DRAIN_MS = 48 * 60 * MINUTE;

export async function measureBacklog(one: BacklogCase): Promise<Backlog> {
  const spacing = SECOND_MS / PUSHES_PER_SECOND;
  const due = Math.ceil((one.jobs * spacing + one.serviceSeconds * SECOND_MS + MINUTE) / MINUTE) * MINUTE;
  const world = new VirtualWorld({
    serviceTime: one.serviceSeconds * SECOND_MS,
    events: one.events,
    delivery: ALONE.small,
    cronFrom: due,
  });
  if (one.of === "undispatched") {
    world.pauseEverythingAt(0);
    world.resumeEverythingAt(due);
  }
  const firsts = pushEvenly(world, "small", one.jobs, spacing);
  await world.run(due + MAX_DRAIN_MS, () => world.endedAt.size >= firsts.length);
  const minutes = (world.elapsed - due) / MINUTE;
  return { ...one, minutes, endedPerMinute: world.endedAt.size / minutes, use: platformUse(world) };
}

/** Pushes jobs one by one, out of phase with cron. Returns the first document of each. */
function pushEvenly(world: VirtualWorld, size: JobSize, jobs: number, spacing: number): string[] {
  const firsts: string[] = [];
  for (let index = 0; index < jobs; index += 1) {
    const documents = makeJob(size, index);
    const [first] = documents;
    if (first !== undefined) firsts.push(first.id);
    world.pushAt(SECOND_MS + (index + 1 / 3) * spacing, LANE[size], documents);
  }
  return firsts;
}

/** Each job has the same texts: nothing depends on them. */
const TEXTS: Readonly<Record<JobSize, readonly BenchDocument[]>> = {
  small: makeDocuments(SMALL, 1, 23),
  full: makeDocuments(MIDDLE, FULL.documents, 23),
};

function makeJob(size: JobSize, job: number): BenchDocument[] {
  return TEXTS[size].map((document, index) => ({ ...document, id: `${job}-${index}` }));
}

function platformUse({ service, isolates }: VirtualWorld): PlatformUse {
  const { submits, maxSubmitsPerMinute, polls } = service;
  const { producer, consumer, poller } = isolates;
  return {
    submits,
    maxSubmitsPerMinute,
    polls,
    workers: { producer: producer.use, consumer: consumer.use, poller: poller.use },
  };
}
