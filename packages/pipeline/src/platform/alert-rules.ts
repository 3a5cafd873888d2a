import type { DatabaseLevel } from "@sluice/core";

/** Times in milliseconds. */
const MINUTE = 60_000;

/** A poller that has not run for this long is silent. It runs every minute. */
export const POLLER_SILENT_AFTER_MS = 5 * MINUTE;
/** A level of the database is worth an alert when it has lasted this long: retention may bring it down by itself. */
const LEVEL_ALERT_AFTER_MS = 60 * MINUTE;
/** A batch that has no answer after this many times the wait for a stuck one is worth an alert. */
const STUCK_TIMES = 3;
/** A job that ended without an answer is reported for this long. */
const UNANSWERED_FOR_MS = 60 * MINUTE;

/** What is worth waking a person for. `workers/README.md` has an entry for each. */
export const alertKinds = [
  "poller_silent",
  "model_paused",
  "submissions_stalled",
  "database_pressure",
  "database_full",
  "messages_quarantined",
  "jobs_stuck",
] as const;
export type AlertKind = (typeof alertKinds)[number];

/** An alert that should be raised now. */
export interface Alert {
  /** The kind, and after a colon the model that it is about. */
  readonly name: string;
  /** When it began. */
  readonly since: number;
  /** Counts and sizes for the log. */
  readonly figures: Readonly<Record<string, number>>;
}

/** A row of `alerts`. */
export interface RaisedAlert {
  readonly name: string;
  readonly since: number;
}

/** Things that are counted, up to a limit, and when the first of them began; null if there are none. */
interface Counted {
  readonly count: number;
  readonly since: number | null;
}

/** What the alerts are decided from. */
export interface AlertFacts {
  readonly raised: readonly RaisedAlert[];
  /** Pauses by a fault of the account or of a model. */
  readonly faults: readonly { readonly scope: string; readonly since: number }[];
  readonly stalled: Counted & { readonly documents: number };
  readonly quarantined: Counted;
  readonly stuck: Counted;
  /** Null until the size was measured. */
  readonly size: {
    readonly level: DatabaseLevel;
    readonly since: number;
    readonly bytes: number;
    readonly limit: number;
  } | null;
}

/** The times that decide which jobs are stuck. */
export function stuckTimes(
  now: number,
  stuckAfter: number,
): { readonly before: number; readonly unansweredFrom: number } {
  return { before: now - STUCK_TIMES * stuckAfter, unansweredFrom: now - UNANSWERED_FOR_MS };
}

/** The name of an alert. */
export function alertName(kind: AlertKind, subject: string | null = null): string {
  return subject === null ? kind : `${kind}:${subject}`;
}

/** The kind of an alert, and what it is about. */
export function alertParts(name: string): { readonly alert: string; readonly subject: string | null } {
  const colon = name.indexOf(":");
  return colon < 0 ? { alert: name, subject: null } : { alert: name.slice(0, colon), subject: name.slice(colon + 1) };
}

/**
 * The alerts that should be raised now. A silent poller is none of them: the poller itself decides, so it is running.
 */
export function alertsNow(facts: AlertFacts, now: number): Alert[] {
  const { faults, stalled, quarantined, stuck } = facts;
  const paused = faults.map(({ scope, since }) => {
    const name = alertName("model_paused", scope.replace(/^model:/, ""));
    return { name, since, figures: {} };
  });
  return [
    ...paused,
    ...counted("submissions_stalled", stalled, { submissions: stalled.count, documents: stalled.documents }),
    ...levelAlerts(facts, now),
    ...counted("messages_quarantined", quarantined, { messages: quarantined.count }),
    ...counted("jobs_stuck", stuck, { jobs: stuck.count }),
  ];
}

function counted(kind: AlertKind, { since }: Counted, figures: Alert["figures"]): Alert[] {
  return since === null ? [] : [{ name: alertName(kind), since, figures }];
}

/** `full` is pressure too, so that a change between the two does not end an alert that a person is working on. */
function levelAlerts({ size, raised }: AlertFacts, now: number): Alert[] {
  if (size === null) return [];
  const { level, since, bytes, limit } = size;
  const lasts = now - since >= LEVEL_ALERT_AFTER_MS;
  const figures = { bytes, limit_bytes: limit };
  const isRaised = (kind: AlertKind) => raised.some(({ name }) => name === kind);
  const alert = (kind: AlertKind, isAtLevel: boolean): Alert[] =>
    isAtLevel && (lasts || isRaised(kind)) ? [{ name: kind, since, figures }] : [];
  return [
    ...alert("database_pressure", level === "pressure" || level === "full"),
    ...alert("database_full", level === "full"),
  ];
}

/** What begins and what ends, compared with the alerts that are raised. */
export function alertChanges(
  raised: readonly RaisedAlert[],
  current: readonly Alert[],
): { readonly begun: readonly Alert[]; readonly ended: readonly RaisedAlert[] } {
  return {
    begun: current.filter(({ name }) => !raised.some((one) => one.name === name)),
    ended: raised.filter(({ name }) => !current.some((one) => one.name === name)),
  };
}
