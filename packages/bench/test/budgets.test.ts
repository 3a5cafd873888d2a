import { describe, expect, it } from "vitest";
import type { Backlog, Load } from "../src/measures/capacity.ts";
import type { Freshness } from "../src/measures/freshness.ts";
import type { Usage } from "../src/measures/operations.ts";
import type { Room, RoomWay } from "../src/measures/room.ts";
import { growthExponent, type ThroughputRun } from "../src/measures/throughput.ts";
import { judge, type Counted } from "../src/report/budgets.ts";
import { yearOf } from "../src/report/room.ts";

const usage = (way: Usage["way"], more: Partial<Usage> = {}): Usage => ({
  arm: "sluice",
  way,
  polls: 10,
  documents: 1_000,
  rowsWritten: 2,
  rowsRead: 11,
  queueOperations: 0.08,
  requests: 0.01,
  aiCalls: 0.01,
  storageBytes: null,
  meanJob: 1_000,
  ...more,
});

const idle = {
  open: 10,
  due: false,
  d1Calls: 1,
  statements: 2,
  rowsRead: 5,
  rowsWritten: 0,
  aiCalls: 0,
  milliseconds: 1,
};
const use: Load["use"] = {
  submits: 100,
  maxSubmitsPerMinute: 2_400,
  polls: 100,
  workers: {
    producer: { invocations: 1, maxStatements: 2, maxHeldBytes: 0 },
    consumer: { invocations: 1, maxStatements: 16, maxHeldBytes: 10e6 },
    poller: { invocations: 1, maxStatements: 900, maxHeldBytes: 20e6 },
  },
};
const load = (more: Partial<Load> = {}): Load => ({
  kind: "load",
  events: false,
  jobs: "small",
  jobsPerMinute: 2_400,
  minutes: 120,
  serviceSeconds: 5,
  endedPerMinute: 2_400,
  p50: 50,
  p99: 80,
  p99ByQuarter: [79, 80, 80, 80],
  last: 50,
  open: 0,
  use,
  ...more,
});
const stream = (more: Partial<Freshness> = {}): Freshness => ({
  kind: "freshness",
  documentsPerSecond: 10,
  push: 1,
  minutes: 10,
  serviceSeconds: 30,
  events: true,
  backlog: 0,
  documents: 6_000,
  p50: 33,
  p99: 40,
  allDone: 640,
  ...more,
});
const room = (way: RoomWay, more: Partial<Room["texts"]> = {}): Room => {
  const texts = { sweeps: 1, statements: 0.003, rowsWritten: 0.02, rowsRead: 5, milliseconds: 0, bytes: 450, ...more };
  const history = { ...texts, bytes: 400 };
  return { way, documents: 20_000, bytes: 1_900, texts, history, scores: { ...texts, bytes: 0 }, idleRowsRead: 9 };
};
const rooms = [room("bulk"), room("alone", { statements: 0.0025 })];
const full = load({ jobs: "full", jobsPerMinute: 100 });
const backlog: Backlog = {
  kind: "backlog",
  events: false,
  jobs: 100_000,
  of: "unpolled",
  serviceSeconds: 5,
  minutes: 40,
  endedPerMinute: 2_500,
  use,
};
const counted: Counted = {
  usages: [usage("bulk"), usage("one by one", { meanJob: 100 })],
  lookups: [{ what: "scores", contexts: 5, rowsRead: 13 }],
  deliveries: [{ shape: "1.5 KB", messages: 100, documents: 8_300, jobs: 2, fewest: 2, leastFull: 0.99 }],
  pollerRuns: [
    { ...idle, finished: 0 },
    { ...idle, finished: 100_000 },
  ],
  poison: [{ strategy: "bisection", documents: 1_000, bad: 1, calls: 20, bound: 21.9, minutes: 2, good: 999 }],
  room: rooms,
  capacity: [load(), full, backlog],
  freshness: [stream()],
};
const failing = (more: Partial<Counted>) =>
  judge({ ...counted, ...more })
    .filter(({ ok }) => !ok)
    .map(({ what }) => what);

describe("counted budgets", () => {
  it("hold if everything is within them", () => {
    expect(failing({})).toEqual([]);
  });

  it("are exceeded by one more row", () => {
    const usages = [usage("bulk", { rowsWritten: 2.11 }), usage("one by one", { rowsWritten: 7.01, meanJob: 100 })];
    expect(failing({ usages })).toEqual([
      "rows written per document, bulk, ten polls",
      "rows written per document, one by one, ten polls",
    ]);
  });

  it("do not hold for smaller jobs or for missing measurements", () => {
    expect(failing({ usages: [usage("bulk", { meanJob: 999 }), usage("one by one", { meanJob: 100 })] })).toHaveLength(
      1,
    );
    expect(failing({ usages: [] })).toHaveLength(4);
    expect(failing({ pollerRuns: [] })).toHaveLength(2);
    expect(failing({ lookups: [] })).toHaveLength(1);
  });

  it("are exceeded by a partial job, a poller that reads finished jobs, or an extra call", () => {
    const [delivery] = counted.deliveries;
    expect(failing({ deliveries: delivery === undefined ? [] : [{ ...delivery, leastFull: 0.94 }] })).toHaveLength(1);
    expect(
      failing({
        pollerRuns: [
          { ...idle, finished: 0 },
          { ...idle, finished: 100_000, rowsRead: 6 },
        ],
      }),
    ).toHaveLength(1);
    expect(failing({ poison: counted.poison.map((one) => ({ ...one, calls: 22 })) })).toHaveLength(1);
  });
});

describe("budgets of retention", () => {
  it("are exceeded by one more row per hundred documents", () => {
    expect(failing({ room: [room("bulk", { rowsWritten: 0.021 }), ...rooms.slice(1)] })).toEqual([
      "rows written to delete the texts of a document, bulk",
    ]);
  });

  it("are exceeded if it deletes less than twice of what may arrive in a day", () => {
    // 168 statements in each of 288 sweeps: six million documents need at most 0.0080 statements each.
    const slow = (way: RoomWay, statements: number) =>
      failing({ room: [...rooms.filter((one) => one.way !== way), room(way, { statements })] });
    expect(slow("bulk", 0.004)).toEqual([]);
    expect(slow("bulk", 0.0041)).toHaveLength(1);
    expect(slow("alone", 0.0034)).toEqual([]);
    expect(slow("alone", 0.0036)).toHaveLength(1);
  });

  it("do not hold if they were not measured", () => {
    expect(failing({ room: [] })).toHaveLength(3);
  });
});

describe("a year of retention", () => {
  it("stores each night by its age, and pays for each deletion", () => {
    const year = yearOf(room("bulk"), 1e6, { texts: 7, history: 30, scores: 60 });
    expect(year.gigabytes).toBeCloseTo((7 * 1_900 + 23 * 450 + 30 * 400) / 1_000);
    const nights = 365 * 3 - 7 - 30 - 60;
    expect(year.retentionDollars).toBeCloseTo(nights * (0.02 + 5 * 0.001));
  });

  it("grows while scores are kept forever", () => {
    const year = yearOf(room("bulk"), 1e6, { texts: 7, history: 30, scores: Number.POSITIVE_INFINITY });
    expect(year.gigabytes).toBeCloseTo((7 * 1_900 + 23 * 450 + 335 * 400) / 1_000);
    expect(year.storageDollars).toBeGreaterThan(year.gigabytes * 0.75 * 6);
  });
});

describe("capacity budgets", () => {
  const over = (more: Partial<Load>) => failing({ capacity: [load(more), full, backlog] });
  const worker = (more: Partial<Load["use"]["workers"]["poller"]>) => ({
    use: { ...use, workers: { ...use.workers, poller: { ...use.workers.poller, ...more } } },
  });

  it("are exceeded by a late p99, a growing p99, or documents without scores", () => {
    expect(over({ p99: 80.1 })).toHaveLength(1);
    expect(over({ serviceSeconds: 30, p99: 105 })).toEqual([]);
    expect(over({ p99ByQuarter: [60, 70, 75, 80] })).toHaveLength(1);
    expect(over({ p99ByQuarter: [60, 70, 75, 80], minutes: 10 })).toEqual([]);
    expect(over({ open: 1 })).toHaveLength(1);
  });

  it("are exceeded by an extra statement, text or submit", () => {
    expect(over(worker({ maxStatements: 1_001 }))).toEqual(["D1 statements per invocation"]);
    expect(over(worker({ maxHeldBytes: 32_000_001 }))).toEqual(["texts held at once in an isolate of the poller"]);
    expect(over({ use: { ...use, maxSubmitsPerMinute: 3_001 } })).toEqual(["submits per minute"]);
  });

  it("let a load above the target wait, but require the target", () => {
    const above = load({ jobsPerMinute: 3_600, p99: 600, open: 100 });
    expect(failing({ capacity: [load(), above, full, backlog] })).toEqual([]);
    expect(failing({ capacity: [above, full, backlog] })).toEqual(["2,400 small jobs per minute"]);
    expect(failing({ capacity: [] })).toHaveLength(6);
  });

  it("are exceeded by a backlog that drains slower than the target", () => {
    expect(failing({ capacity: [load(), full, { ...backlog, endedPerMinute: 2_399 }] })).toHaveLength(1);
  });
});

describe("freshness budgets", () => {
  const over = (more: Partial<Freshness>) => failing({ freshness: [stream(more)] });

  it("are exceeded by a p50 above service + 3 s, or a p99 above service + 10 s", () => {
    expect(over({ p50: 33.1 })).toHaveLength(1);
    expect(over({ p99: 40.1 })).toHaveLength(1);
  });

  it("allow service + 75 s without events, and ignore streams behind a backlog", () => {
    expect(over({ events: false, p50: 90, p99: 105 })).toEqual([]);
    expect(over({ events: false, p99: 105.1 })).toHaveLength(1);
    expect(over({ backlog: 100_000, p50: 90, p99: 900 })).toEqual([]);
  });
});

describe("growth", () => {
  const run = (documents: number, push: number): ThroughputRun => ({
    arm: "sluice",
    shape: "1.5 KB",
    documents,
    bytes: 0,
    push,
    finish: 0,
    read: 0,
    handlers: { fetch: 0, queue: 0, scheduled: 0, d1: 0 },
  });

  it("is 1 for linear time and 2 for quadratic time", () => {
    expect(growthExponent([run(1_000, 1), run(10_000, 10), run(100_000, 100)])).toBeCloseTo(1);
    expect(growthExponent([run(1_000, 1), run(10_000, 100)])).toBeCloseTo(2);
  });
});
