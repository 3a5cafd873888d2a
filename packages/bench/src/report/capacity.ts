import { MAX_ADDED_SECONDS, type Backlog, type Load } from "../measures/capacity.ts";
import type { Freshness } from "../measures/freshness.ts";
import { describeCase } from "../measures/virtual-threads.ts";
import { TARGET_FULL_JOBS, TARGET_SMALL_JOBS } from "../plans.ts";
import type { WorkerName } from "../virtual/invocations.ts";
import type { BudgetLine } from "./budget-line.ts";
import { logChart } from "./chart.ts";
import { figure, megabytes, table } from "./table.ts";

/** D1's limit for an invocation. */
const MAX_STATEMENTS = 1_000;
/**
 * A Worker has 128 MB. During a dispatch a text exists in up to four copies: as rows or a message, as requests, as
 * JSON, and in transit. A consumer records before it dispatches, so its other texts exist as messages and parsed
 * values.
 */
const MAX_HELD_BYTES = {
  consumer: 128e6 / 2,
  poller: 128e6 / 4,
} as const satisfies Partial<Record<WorkerName, number>>;
/** Workers AI's limit for embeddings. */
const MAX_SUBMITS_PER_MINUTE = 3_000;
/** The most that the p99 of a load's last quarter may exceed that of its first. */
const FLAT_SECONDS = 5;
/** Shorter loads are not judged for flatness: their quarters hold two or three cron runs, and their p99 varies by half a minute. */
const MIN_FLAT_MINUTES = 60;

const TARGET = { small: TARGET_SMALL_JOBS, full: TARGET_FULL_JOBS };

export function judgeCapacity(measured: readonly (Load | Backlog)[]): BudgetLine[] {
  const lines = measured.flatMap((one) => (one.kind === "load" ? judgeLoad(one) : [judgeDrain(one)]));
  for (const jobs of ["small", "full"] as const) {
    const target = TARGET[jobs];
    if (!measured.filter(isLoad).some((one) => one.jobs === jobs && one.jobsPerMinute === target))
      lines.push({
        what: `${figure(target)} ${jobs} jobs per minute`,
        budget: "measured",
        measured: "not measured",
        ok: false,
      });
  }
  const uses = measured.map(({ use }) => use);
  const workers = uses.flatMap((use) => Object.values(use.workers));
  return [
    ...lines,
    atMost(
      "D1 statements per invocation",
      workers.map(({ maxStatements }) => maxStatements),
      MAX_STATEMENTS,
      figure,
    ),
    ...(["consumer", "poller"] as const).map((worker) =>
      atMost(
        `texts held at once in an isolate of the ${worker}`,
        uses.map((use) => use.workers[worker].maxHeldBytes),
        MAX_HELD_BYTES[worker],
        megabytes,
      ),
    ),
    atMost(
      "submits per minute",
      uses.map(({ maxSubmitsPerMinute }) => maxSubmitsPerMinute),
      MAX_SUBMITS_PER_MINUTE,
      figure,
    ),
  ];
}

/** The time limit applies to loads up to the target. Heavier loads may wait. */
function judgeLoad(load: Load): BudgetLine[] {
  if (load.jobsPerMinute > TARGET[load.jobs]) return [];
  const first = load.p99ByQuarter[0] ?? Number.NaN;
  const last = load.p99ByQuarter.at(-1) ?? Number.NaN;
  const what = describeCase(load);
  return [
    atMost(`p99 of ${what}`, [load.p99], load.serviceSeconds + MAX_ADDED_SECONDS, seconds),
    ...(load.minutes < MIN_FLAT_MINUTES
      ? []
      : [atMost(`p99 of its last quarter over its first: ${what}`, [last - first], FLAT_SECONDS, seconds)]),
    atMost(`without scores at the end: ${what}`, [load.open], 0, figure),
  ];
}

function judgeDrain(backlog: Backlog): BudgetLine {
  const { endedPerMinute } = backlog;
  return {
    what: `ended jobs per minute of ${describeCase(backlog)}`,
    budget: `≥ ${figure(TARGET_SMALL_JOBS)}`,
    measured: figure(Math.round(endedPerMinute)),
    ok: endedPerMinute >= TARGET_SMALL_JOBS,
  };
}

/** Seconds in addition to the service's time, with events: the median and the 99th percentile. */
const FRESH = { p50: 3, p99: 10 };

/** Streams without a backlog. Without events they wait for cron as a load does. */
export function judgeFreshness(measured: readonly Freshness[]): BudgetLine[] {
  const judged = measured.filter(({ backlog }) => backlog === 0);
  return judged.flatMap((one) => {
    const what = describeCase(one);
    const { serviceSeconds, p50, p99 } = one;
    if (!one.events) return [atMost(`p99 of ${what}`, [p99], serviceSeconds + MAX_ADDED_SECONDS, seconds)];
    return [
      atMost(`p50 of ${what}`, [p50], serviceSeconds + FRESH.p50, seconds),
      atMost(`p99 of ${what}`, [p99], serviceSeconds + FRESH.p99, seconds),
    ];
  });
}

function atMost(
  what: string,
  measured: readonly number[],
  budget: number,
  show: (value: number) => string,
): BudgetLine {
  const most = Math.max(...measured);
  return {
    what,
    budget: `≤ ${show(budget)}`,
    measured: measured.length === 0 ? "not measured" : show(most),
    ok: most <= budget && measured.length > 0,
  };
}

/** The section of `RESULTS.md`. */
export function describeCapacity(measured: readonly (Load | Backlog)[]): string {
  const loads = measured.filter(isLoad).toSorted(byLoad);
  const backlogs = measured.filter((one) => one.kind === "backlog");
  const statements = (one: Load | Backlog) =>
    (["producer", "consumer", "poller"] as const)
      .map((worker) => figure(one.use.workers[worker].maxStatements))
      .join(" · ");
  const held = (one: Load | Backlog) =>
    (["consumer", "poller"] as const).map((worker) => megabytes(one.use.workers[worker].maxHeldBytes)).join(" · ");
  return [
    "## Capacity",
    "Steady loads on the virtual clock, without batch events. A small job is one document of 0.3 KB pushed and delivered alone;  " +
      "a full one is 9.3 MB. A submit takes 0.3 s plus its upload, a poll 0.2 s, six at once in an invocation; D1 takes 1 ms a call and " +
      "0.02 ms a row that it changes, one call at a time. _p99 by quarter_ groups documents by the time they were accepted: constant, or growing without bound. " +
      "Statements are the maximum per invocation of producer · consumer · poller; texts are the maximum held at once in an isolate of consumer · poller.",
    table(
      [
        "jobs per minute",
        "size",
        "service s",
        "minutes",
        "ended per minute",
        "p50 s",
        "p99 s",
        "p99 by quarter",
        "submits per minute",
        "statements",
        "texts",
      ],
      loads.map((one) => [
        figure(one.jobsPerMinute),
        one.jobs,
        figure(one.serviceSeconds),
        figure(one.minutes),
        figure(Math.round(one.endedPerMinute)),
        one.p50.toFixed(0),
        one.p99.toFixed(0),
        one.p99ByQuarter.map((value) => value.toFixed(0)).join(" · "),
        figure(one.use.maxSubmitsPerMinute),
        statements(one),
        held(one),
      ]),
    ),
    "![Seconds from accepted to queryable by jobs per minute](capacity.svg)",
    "Jobs that become due at once: _undispatched_ ones were recorded during a pause that then ends; _unpolled_ ones finished while cron did not run.",
    table(
      ["backlog", "jobs", "drained in minutes", "jobs per minute", "submits per minute", "statements", "texts"],
      backlogs.map((one) => [
        one.of,
        figure(one.jobs),
        figure(one.minutes),
        figure(Math.round(one.endedPerMinute)),
        figure(one.use.maxSubmitsPerMinute),
        statements(one),
        held(one),
      ]),
    ),
  ].join("\n\n");
}

function isLoad(one: Load | Backlog): one is Load {
  return one.kind === "load";
}

function byLoad(a: Load, b: Load): number {
  return a.jobs.localeCompare(b.jobs) * -1 || a.serviceSeconds - b.serviceSeconds || a.jobsPerMinute - b.jobsPerMinute;
}

/** Latency of small jobs by load, one line per service time. */
export function capacityChart(measured: readonly (Load | Backlog)[]): string {
  const loads = measured
    .filter(isLoad)
    .filter(({ jobs }) => jobs === "small")
    .toSorted(byLoad);
  const services = [...Map.groupBy(loads, ({ serviceSeconds }) => serviceSeconds)];
  const lines = services.flatMap(([serviceSeconds, group], index) =>
    // The medians of slower services would overlap their p99.
    (index === 0 ? (["p99", "p50"] as const) : (["p99"] as const)).map((percentile) => ({
      label: `${percentile}, service ${serviceSeconds} s`,
      ours: percentile === "p99",
      points: group.map((one) => [one.jobsPerMinute, one[percentile]] as const),
    })),
  );
  return logChart("From accepted to queryable as load grows", { x: "small jobs per minute", y: "seconds" }, lines);
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
