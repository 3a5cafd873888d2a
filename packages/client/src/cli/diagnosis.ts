import type { Pause, Stats, Submission, Readiness } from "../types.ts";
import type { MetricSample } from "./open-metrics.ts";
import { count, plural, pluralVerb } from "./text.ts";
import { HAS, WAS } from "./words.ts";

/** Something that a person should look at. */
export interface Finding {
  /** As in the log of the poller and in the runbook, workers/README.md. */
  readonly name: string;
  /** RFC 3339; null if that is not known. */
  readonly since: string | null;
  readonly what: string;
  readonly means: string;
  /** Commands and steps. */
  readonly do: readonly string[];
}

/** What is known about a deployment. Null: the key may not read it. */
export interface Signs {
  readonly readiness: Readiness;
  readonly stats: Stats | null;
  readonly samples: readonly MetricSample[] | null;
  /** Some of the submissions that lack documents. */
  readonly stalled: readonly Submission[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const MINUTE_MS = 60_000;
const POLLER_SILENT_AFTER_MS = 5 * MINUTE_MS;
/** A backlog of which nothing ended for this long is idle. */
const IDLE_AFTER_MS = 60 * MINUTE_MS;
/** A message that waits longer in a queue was not delivered in time. */
const UNREAD_AFTER_SECONDS = 1_800;

/** Lists what is wrong, the most urgent first. */
export function diagnose(signs: Signs): Finding[] {
  const { readiness, stats } = signs;
  const known = [
    ...(stats === null ? [] : [...pollerSilent(stats, signs.now), ...stats.pauses.flatMap(modelPaused)]),
    ...databaseFull(signs),
    ...submissionsStalled(signs),
    ...jobsStuck(signs),
    ...queuesUnread(signs),
    ...(stats === null ? [] : messagesQuarantined(stats, signs)),
  ];
  const problems = [...notReady(readiness, known), ...known, ...otherAlerts(signs)];
  return problems.length === 0 && stats !== null ? backlogIdle(stats, signs.now) : problems;
}

/** The values of a metric. */
function valuesOf({ samples }: Signs, name: string): readonly MetricSample[] {
  return (samples ?? []).filter((sample) => sample.name === name);
}

function sinceSeconds(seconds: number | undefined, now: number): string | null {
  return seconds === undefined ? null : new Date(now - seconds * 1_000).toISOString();
}

/** When the poller raised an alert. */
function alertSince(signs: Signs, alert: string): string | null {
  const raised = valuesOf(signs, "sluice_alert_age_seconds").find(({ labels }) => labels["alert"] === alert);
  return sinceSeconds(raised?.value, signs.now);
}

/** What /readyz reports that nothing else does, such as a missing table. */
function notReady({ ready, detail }: Readiness, known: readonly Finding[]): Finding[] {
  const isTold = known.some(({ name }) => ["poller_silent", "model_paused", "database_full"].includes(name));
  if (ready || isTold) return [];
  return [
    {
      name: "not_ready",
      since: null,
      what: detail ?? "The API is not ready.",
      means: "Pushed documents are not scored.",
      do: ["Fix the cause, then: sluice doctor"],
    },
  ];
}

function pollerSilent({ poller }: Stats, now: number): Finding[] {
  if (poller !== null && now - Date.parse(poller.last_run_at) <= POLLER_SILENT_AFTER_MS) return [];
  return [
    {
      name: "poller_silent",
      since: poller?.last_run_at ?? null,
      what: poller === null ? "The poller has never run." : "The poller does not run. It should run every minute.",
      means: "Batches are not polled and nothing is dispatched again. Nothing is lost: it continues with the next run.",
      do: [
        "Check that sluice-poller is deployed and has its cron trigger: npx wrangler triggers deploy -c workers/poller/wrangler.jsonc",
        "See why its runs fail: npx wrangler tail sluice-poller",
      ],
    },
  ];
}

function modelPaused({ scope, reason, message, since }: Pause): Finding[] {
  if (reason !== "configuration") return [];
  const model = scope.replace(/^model:/, "");
  return [
    {
      name: "model_paused",
      since,
      what: `Workers AI refuses the account or the model ${model}${message === null ? "." : `: ${message}`}`,
      means: "Nothing is dispatched to this model. No document fails: one job tries again every 15 minutes.",
      do: ["Fix the account, its plan or its terms.", `Then, not to wait: sluice resume --model ${model}`],
    },
  ];
}

/** The level of the database and its start, from what the key may read. */
function databaseLevel(signs: Signs): { readonly level: string | undefined; readonly since: string | null } {
  if (signs.stats?.database) return signs.stats.database;
  const [age] = valuesOf(signs, "sluice_database_level_age_seconds");
  const level = valuesOf(signs, "sluice_database_level").find(({ value }) => value === 1);
  return { level: level?.labels["level"], since: sinceSeconds(age?.value, signs.now) };
}

const SHORTEN =
  "Delete what is not needed, or shorten the retention: RETAIN_TEXTS_DAYS, RETAIN_HISTORY_DAYS, RETAIN_SCORES_DAYS of the poller.";

function databaseFull(signs: Signs): Finding[] {
  const { level, since } = databaseLevel(signs);
  // /readyz names the setting if only scores that are kept remain.
  const isLasting = signs.readiness.detail?.includes("RETAIN_SCORES_DAYS") === true;
  const full = "New pushes are answered 503, and messages wait in their queues, until it is below 90 %.";
  const lasting = `${full} This does not resolve itself: only scores that are kept remain.`;
  if (level === "full")
    return [
      {
        name: "database_full",
        since,
        what: "The database is above 95 % of its limit.",
        means: isLasting ? lasting : full,
        do: [isLasting ? "Set or lower RETAIN_SCORES_DAYS of the poller, or delete a collection." : SHORTEN],
      },
    ];
  if (level !== "pressure") return [];
  return [
    {
      name: "database_pressure",
      since,
      what: "The database is above 85 % of its limit.",
      means: "Retention ignores ages: texts go first, the oldest first. Scores stay.",
      do: ["Push less.", SHORTEN],
    },
  ];
}

function submissionsStalled(signs: Signs): Finding[] {
  const [first] = signs.stalled;
  const listed = signs.stalled.reduce((sum, { stalled }) => sum + (stalled?.missing ?? 0), 0);
  const submissions = valuesOf(signs, "sluice_stalled_submissions")[0]?.value ?? 0;
  if (first === undefined && submissions === 0) return [];
  const documents = Math.max(listed, valuesOf(signs, "sluice_stalled_documents")[0]?.value ?? 0);
  const times = signs.stalled.flatMap(({ stalled }) => (stalled === null ? [] : [stalled.since]));
  const missing = documents === 0 ? "Documents were" : pluralVerb(documents, "document", WAS);
  return [
    {
      name: "submissions_stalled",
      since: times.toSorted()[0] ?? alertSince(signs, "submissions_stalled"),
      what: `${missing} sent more than 10 minutes ago and not recorded: ${first?.id ?? plural(submissions, "submission")}${more(submissions)}.`,
      means: "Their messages wait in the Queue, are quarantined, or are lost.",
      do: [
        "See all: sluice status --status stalled",
        "Check that the consumer is attached: npx wrangler queues info sluice-bulk",
        "To score them now, push them again. Lost ones fail as message_lost after 8.5 days.",
      ],
    },
  ];
}

function more(submissions: number): string {
  return submissions > 1 ? ` and ${count(submissions - 1)} more` : "";
}

function jobsStuck(signs: Signs): Finding[] {
  const since = alertSince(signs, "jobs_stuck");
  if (since === null) return [];
  return [
    {
      name: "jobs_stuck",
      since,
      what: "Jobs get no answer from Workers AI.",
      means: "They are dispatched again, up to ten times over more than a day. Each batch may be paid for.",
      do: ["Check the status page of Workers AI.", "See the jobs: sluice jobs --status dispatched"],
    },
  ];
}

function queuesUnread(signs: Signs): Finding[] {
  const late = valuesOf(signs, "sluice_queue_oldest_message_age_seconds").filter(
    ({ value }) => value > UNREAD_AFTER_SECONDS,
  );
  return late.map(({ labels, value }) => ({
    name: "queue_not_read",
    since: sinceSeconds(value, signs.now),
    what: `The oldest message of the lane ${labels["lane"]} is still in its queue.`,
    means: "The consumer does not keep up, fails, or is not attached.",
    do: [
      `Check its consumer: npx wrangler queues info sluice-${labels["lane"]}`,
      "See why its invocations fail: npx wrangler tail sluice-consumer",
    ],
  }));
}

function messagesQuarantined({ malformed_messages: messages }: Stats, signs: Signs): Finding[] {
  if (messages === 0) return [];
  return [
    {
      name: "messages_quarantined",
      since: alertSince(signs, "messages_quarantined"),
      what: `${pluralVerb(messages, "message", WAS)} put aside: the consumer could not read them, or D1 refused them.`,
      means: "Their documents are missing in their submissions.",
      do: ["See the reasons: sluice malformed", "After the fix: sluice malformed --replay"],
    },
  ];
}

/** Alerts that are checked here directly: one that is raised may be over by now. */
export const CHECKED_ALERTS: readonly string[] = [
  "poller_silent",
  "model_paused",
  "submissions_stalled",
  "database_pressure",
  "database_full",
  "messages_quarantined",
  "jobs_stuck",
];

/** Alerts of a newer poller that this command does not know. */
function otherAlerts(signs: Signs): Finding[] {
  return valuesOf(signs, "sluice_alert_age_seconds")
    .filter(({ labels }) => !CHECKED_ALERTS.includes(labels["alert"] ?? ""))
    .map(({ labels, value }) => ({
      name: labels["alert"] ?? "alert",
      since: sinceSeconds(value, signs.now),
      what: `The poller has raised this alert${labels["subject"] ? ` about ${labels["subject"]}` : ""}.`,
      means: "It ends within five minutes after its cause.",
      do: [`See the runbook: workers/README.md#${labels["alert"]}`],
    }));
}

/** A backlog that waits although nothing else is wrong. A pause explains it. */
function backlogIdle({ backlog, oldest_waiting_at: oldest, throughput, pauses }: Stats, now: number): Finding[] {
  if (oldest === null || pauses.length > 0 || throughput.last_hour > 0) return [];
  if (now - Date.parse(oldest) < IDLE_AFTER_MS) return [];
  return [
    {
      name: "backlog_idle",
      since: oldest,
      what: `${pluralVerb(backlog.documents, "document", HAS)} not ended, and none ended within the last hour.`,
      means: "Something keeps them that no other check finds.",
      do: ["See the oldest pushes: sluice status", "Ask for the reason: sluice why SUBMISSION"],
    },
  ];
}
