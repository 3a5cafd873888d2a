import type { ArmName } from "./arms/arm.ts";
import { LARGE, MIDDLE, SMALL } from "./documents.ts";
import type { LoadCase } from "./measures/capacity.ts";
import { CASES, type DeliveryCase } from "./measures/deliveries.ts";
import type { FreshnessCase } from "./measures/freshness.ts";
import type { RoomCase } from "./measures/room.ts";
import type { ThroughputCase } from "./measures/throughput.ts";
import type { VirtualCase } from "./measures/virtual-threads.ts";

/** The counted cases, also part of the quick run. */
export interface CountedPlan {
  readonly operations: {
    readonly bulk: number;
    readonly compared: number;
    readonly only: readonly ArmName[];
    readonly polls: readonly number[];
  };
  readonly deliveries: readonly DeliveryCase[];
  readonly poison: readonly number[];
  readonly pollerRuns: readonly { readonly open: number; readonly finished: number }[];
  readonly room: readonly RoomCase[];
  /** Cases on the virtual clock. */
  readonly virtual: readonly VirtualCase[];
}

const ALL: readonly ArmName[] = [
  "floor",
  "relay",
  "tutorial",
  "row-per-document",
  "row-per-document-batched",
  "sluice",
];

/** The required jobs per minute. */
export const TARGET_SMALL_JOBS = 2_400;
export const TARGET_FULL_JOBS = 100;

function load(one: Partial<LoadCase> & Pick<LoadCase, "jobsPerMinute" | "minutes">): LoadCase {
  return { kind: "load", events: false, jobs: "small", serviceSeconds: 5, ...one };
}

function stream(
  one: Partial<FreshnessCase> & Pick<FreshnessCase, "documentsPerSecond" | "minutes" | "events">,
): FreshnessCase {
  return { kind: "freshness", push: 1, serviceSeconds: 30, backlog: 0, ...one };
}

export const quickPlan: CountedPlan = {
  operations: { bulk: 9_000, compared: 0, only: ["sluice"], polls: [10] },
  deliveries: CASES.filter(({ shape }) => shape.name === "1.5 KB" || shape.name === "100 contexts"),
  poison: [1, 5],
  pollerRuns: [
    { open: 10, finished: 0 },
    { open: 10, finished: 100_000 },
  ],
  room: [
    { way: "bulk", documents: 20_000 },
    { way: "alone", documents: 40_000 },
  ],
  virtual: [
    load({ jobsPerMinute: TARGET_SMALL_JOBS, minutes: 5 }),
    load({ jobs: "full", jobsPerMinute: TARGET_FULL_JOBS, minutes: 8 }),
    ...[true, false].flatMap((events) => [
      stream({ documentsPerSecond: 0.1, minutes: 60, events }),
      stream({ documentsPerSecond: 10, minutes: 1, events }),
      stream({ documentsPerSecond: 500, push: 50, minutes: 1 / 4, events }),
    ]),
    { kind: "backlog", events: false, of: "undispatched", jobs: 5_000, serviceSeconds: 5 },
  ],
};

export const fullPlan: CountedPlan = {
  operations: { bulk: 12_000, compared: 400, only: ALL, polls: [1, 10] },
  deliveries: CASES,
  poison: [1, 5, 50],
  pollerRuns: [1, 100, 10_000].flatMap((open) => [0, 10_000, 1_000_000].map((finished) => ({ open, finished }))),
  room: [
    { way: "bulk", documents: 60_000 },
    { way: "one by one", documents: 1_000 },
    { way: "alone", documents: 40_000 },
  ],
  virtual: [
    // The longest first, so that two threads end together.
    load({ jobsPerMinute: TARGET_SMALL_JOBS, minutes: 120 }),
    ...(["undispatched", "unpolled"] as const).map(
      (of) => ({ kind: "backlog", events: false, of, jobs: 100_000, serviceSeconds: 5 }) as const,
    ),
    ...[3_600, 1_200, 600, 120, 50].map((jobsPerMinute) => load({ jobsPerMinute, minutes: 10 })),
    ...[300, 30].flatMap((serviceSeconds) =>
      [TARGET_SMALL_JOBS, 1_200, 120].map((jobsPerMinute) => load({ jobsPerMinute, minutes: 10, serviceSeconds })),
    ),
    load({ jobs: "full", jobsPerMinute: TARGET_FULL_JOBS, minutes: 120 }),
    // One document per push, or fifty; the service fast and slow; with and without a backfill.
    ...[true, false].flatMap((events) => [
      ...[30, 300].flatMap((serviceSeconds) => [
        stream({ documentsPerSecond: 0.1, minutes: 60, serviceSeconds, events }),
        stream({ documentsPerSecond: 10, minutes: 10, serviceSeconds, events }),
        stream({ documentsPerSecond: 500, push: 50, minutes: 3, serviceSeconds, events }),
      ]),
      stream({ documentsPerSecond: 500, minutes: 1, events }),
      stream({ documentsPerSecond: 1, minutes: 10, events }),
      stream({ documentsPerSecond: 1, minutes: 10, backlog: 100_000, events }),
    ]),
  ],
};

/** From sizes dominated by the runtime's delays to sizes that take a night. */
const GROWTH = [1_000, 10_000, 100_000];

/** Sizes and numbers of the throughput runs, multiplied by `times`. */
export function throughputCases(times: number): {
  readonly compared: ThroughputCase[];
  readonly growth: ThroughputCase[];
} {
  const all = (many: number, few: number, fewest: number): ThroughputCase["arms"] => ({
    floor: many * times,
    relay: many * times,
    tutorial: few * times,
    "row-per-document": fewest * times,
    "row-per-document-batched": few * times,
    sluice: many * times,
  });
  return {
    compared: [
      { shape: MIDDLE, arms: all(10_000, 2_000, 1_000), rounds: 5 },
      { shape: SMALL, arms: all(20_000, 2_000, 500), rounds: 1 },
      { shape: LARGE, arms: all(1_000, 500, 500), rounds: 1 },
    ],
    growth: GROWTH.map((documents) => ({
      shape: MIDDLE,
      arms: { floor: documents * times, relay: documents * times, sluice: documents * times },
      rounds: 3,
    })),
  };
}
