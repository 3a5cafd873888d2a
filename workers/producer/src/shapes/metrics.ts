import { databaseLevels, lanes, type Lane } from "@sluice/core";
import type { OpenJobs } from "@sluice/pipeline/job/sql/count-open-jobs.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type { Upkeep } from "@sluice/pipeline/platform/sql/read-upkeep.ts";
import type { Stalled } from "@sluice/pipeline/submission/sql/count-stalled.ts";
import type { EndedJobs, LaneTotals } from "@sluice/pipeline/submission/sql/read-totals.ts";
import * as z from "zod";
import { OPEN_METRICS_CONTENT, openMetricsText, type Metric, type Sample } from "../http/open-metrics.ts";
import { countsShape } from "./submission.ts";

/**
 * Maximum rows of each kind that one reading counts: it is read every minute, and each is a row read. `submissions` are
 * the recent ones, the open ones, and failed documents of both. `openJobs` are those of a lane that wait, or that are
 * dispatched.
 */
export const METRICS_LIMITS = {
  submissions: 25_000,
  endedJobs: 25_000,
  openJobs: 5_000,
  stalled: 1_000,
  malformed: 1_000,
} as const;

export const metricsSchema = z.string().describe("Metrics in the text format of OpenMetrics 1.0.");

export interface QueueFacts {
  readonly lane: Lane;
  readonly messages: number;
  readonly bytes: number;
  /** Milliseconds since the epoch; null if the queue is empty or does not say. */
  readonly oldestAt: number | null;
}

/** Times in milliseconds. */
export interface MetricsFacts {
  readonly now: number;
  readonly lanes: readonly LaneTotals[];
  readonly queues: readonly QueueFacts[];
  readonly endedJobs: EndedJobs;
  readonly openJobs: readonly OpenJobs[];
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly stalled: Stalled;
  readonly malformed: number;
  readonly pauses: readonly Pause[];
  readonly lastRunAt: number | null;
  readonly upkeep: Upkeep;
}

export function metricsResponse(facts: MetricsFacts): Response {
  return new Response(metricsText(facts), { headers: { "content-type": OPEN_METRICS_CONTENT } });
}

export function metricsText(facts: MetricsFacts): string {
  return openMetricsText([
    ...documentMetrics(facts),
    ...queueMetrics(facts),
    ...jobMetrics(facts),
    ...troubleMetrics(facts),
    ...databaseMetrics(facts),
  ]);
}

const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name,
  type: "gauge",
  help,
  samples,
});
const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name,
  type: "counter",
  help,
  samples,
});
const bytes = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  ...gauge(name, help, samples),
  unit: "bytes",
});

/** Seconds from each time until now. A time that is null has no sample, and none is negative. */
function ages(
  name: string,
  help: string,
  now: number,
  times: readonly { readonly at: number | null; readonly labels?: Sample["labels"] }[],
): Metric {
  const samples = times.flatMap(({ at, labels = {} }) =>
    at === null ? [] : [{ labels, value: Math.max(0, now - at) / 1_000 }],
  );
  return { ...gauge(name, help, samples), unit: "seconds" };
}

const NO_DOCUMENTS = { total: 0, recorded: 0, succeeded: 0, failed: 0, canceled: 0, lost: 0, oldestOpenAt: null };

function documentMetrics({ now, lanes: totals, failures }: MetricsFacts): Metric[] {
  const byLane = lanes.map((lane) => ({ lane, ...(totals.find((one) => one.lane === lane) ?? NO_DOCUMENTS) }));
  const byStatus = byLane.flatMap(({ lane, ...sums }) => {
    const { total: _, ...counts } = countsShape(sums);
    return Object.entries(counts).map(([status, value]) => ({ labels: { lane, status }, value }));
  });
  const lost = byLane.reduce((sum, one) => sum + one.lost, 0);
  const byCode = failures.map(({ code, count }) => ({ labels: { code }, value: count }));
  return [
    gauge("sluice_documents", "Documents ever, by lane and status. A retry moves failed ones back.", byStatus),
    ages(
      "sluice_oldest_open_submission_age_seconds",
      "Age of the oldest submission with documents that have not ended.",
      now,
      byLane.map(({ lane, oldestOpenAt }) => ({ at: oldestOpenAt, labels: { lane } })),
    ),
    gauge("sluice_failed_documents", "Failed documents by code.", [
      ...byCode,
      ...(lost > 0 ? [{ labels: { code: "message_lost" }, value: lost }] : []),
    ]),
  ];
}

function queueMetrics({ now, queues }: MetricsFacts): Metric[] {
  const each = (value: (queue: QueueFacts) => number) =>
    queues.map((queue) => ({ labels: { lane: queue.lane }, value: value(queue) }));
  return [
    gauge(
      "sluice_queue_messages",
      "Messages in the queue, where the runtime reports it.",
      each((one) => one.messages),
    ),
    bytes(
      "sluice_queue_bytes",
      "Size of the messages in the queue.",
      each((one) => one.bytes),
    ),
    ages(
      "sluice_queue_oldest_message_age_seconds",
      "Age of the oldest message in the queue.",
      now,
      queues.map(({ lane, oldestAt }) => ({ at: oldestAt, labels: { lane } })),
    ),
  ];
}

const OPEN = ["pending", "dispatching", "dispatched"] as const;

function jobMetrics({ now, openJobs, endedJobs }: MetricsFacts): Metric[] {
  const find = (status: (typeof OPEN)[number]) => openJobs.find((one) => one.status === status);
  const open = OPEN.map((status) => ({ labels: { status }, value: find(status)?.count ?? 0 }));
  return [
    gauge("sluice_open_jobs", "Jobs that have not ended, up to 5,000 of a lane that wait or are dispatched.", open),
    ages("sluice_oldest_dispatched_job_age_seconds", "Time since the dispatch of the job that waits longest.", now, [
      { at: find("dispatched")?.firstDispatchedAt ?? null },
    ]),
    counter("sluice_ended_jobs", "Jobs that ended.", [{ value: endedJobs.ended }]),
    counter("sluice_tokens", "Tokens that ended jobs used.", [{ value: endedJobs.tokens }]),
    counter("sluice_unconfirmed_dispatches", "Dispatches of ended jobs that Workers AI may or may not have run.", [
      { value: endedJobs.unconfirmed },
    ]),
    counter("sluice_repeated_dispatches", "Dispatches of ended jobs whose batch was given up and sent again.", [
      { value: endedJobs.repeated },
    ]),
  ];
}

/** The kind of scope: a label has few values, and there is one submission after another. */
function pauseLabels({ scope, reason }: Pause): Readonly<Record<string, string>> {
  return { scope: scope.startsWith("submission:") ? "submission" : scope, reason };
}

function troubleMetrics({ now, stalled, malformed, pauses, lastRunAt, upkeep }: MetricsFacts): Metric[] {
  const paused = Map.groupBy(pauses, (pause) => JSON.stringify(pauseLabels(pause)));
  const inForce = [...paused.values()].flatMap((same) =>
    same[0] === undefined ? [] : [{ labels: pauseLabels(same[0]), value: same.length }],
  );
  const raised = upkeep.alerts.map(({ name, since }) => {
    const [alert = "", ...subject] = name.split(":");
    return { at: since, labels: { alert, subject: subject.join(":") } };
  });
  return [
    gauge("sluice_stalled_submissions", "Submissions whose documents were sent and not recorded, up to 1,000.", [
      { value: stalled.submissions },
    ]),
    gauge("sluice_stalled_documents", "Documents that stalled submissions lack.", [{ value: stalled.documents }]),
    gauge("sluice_quarantined_messages", "Messages that could not be read or recorded, up to 1,000.", [
      { value: malformed },
    ]),
    gauge("sluice_pauses", "Pauses in force, by scope and reason.", inForce),
    ages("sluice_poller_age_seconds", "Time since the poller ran; absent if it never did.", now, [{ at: lastRunAt }]),
    ages("sluice_alert_age_seconds", "Time since each alert that is raised began.", now, raised),
  ];
}

function databaseMetrics({ now, upkeep: { size, retention, rows } }: MetricsFacts): Metric[] {
  const sample = (value: number | undefined) => (value === undefined ? [] : [{ value }]);
  const level = databaseLevels.map((one) => ({ labels: { level: one }, value: size?.level === one ? 1 : 0 }));
  const usage = (value: (row: (typeof rows)[number]) => number) =>
    rows.map((row) => ({ labels: { worker: row.worker }, value: value(row) }));
  return [
    bytes("sluice_database_size_bytes", "Size of the D1 database when it was last measured.", sample(size?.bytes)),
    bytes("sluice_database_limit_bytes", "MAX_DATABASE_BYTES of the poller.", sample(size?.limit)),
    gauge("sluice_database_level", "1 for the level of the database.", size === null ? [] : level),
    ages("sluice_database_level_age_seconds", "Time since the database reached its level.", now, [
      { at: size?.since ?? null },
    ]),
    counter(
      "sluice_retention_deleted",
      "Rows of texts, documents and jobs that retention deleted, by task.",
      retention.map(({ task, deleted }) => ({ labels: { task }, value: deleted })),
    ),
    ages(
      "sluice_retention_pass_age_seconds",
      "Time since the last complete pass of a task of retention.",
      now,
      retention.map(({ task, endedAt }) => ({ at: endedAt, labels: { task } })),
    ),
    counter(
      "sluice_d1_rows_read",
      "Rows read in D1, as billed, by Worker.",
      usage((row) => row.rowsRead),
    ),
    counter(
      "sluice_d1_rows_written",
      "Rows written in D1, as billed, by Worker.",
      usage((row) => row.rowsWritten),
    ),
  ];
}
