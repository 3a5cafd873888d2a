import { alertChanges, alertName, alertParts, alertsNow, type RaisedAlert } from "./alert-rules.ts";
import type { Context, LogEvent } from "./context.ts";
import { beginAlerts, endAlerts } from "./sql/change-alerts.ts";
import { readAlertFacts } from "./sql/read-alert-facts.ts";

const MINUTE_MS = 60_000;

/**
 * Logs one line when something begins that a person should look at, and one when it ends. Which alerts are raised is
 * stored in D1, so that of overlapping runs only one logs each change. One D1 call if nothing changed. `stuckAfter` in
 * milliseconds.
 */
export async function raiseAlerts(context: Context, stuckAfter: number): Promise<void> {
  const now = context.now();
  const facts = await readAlertFacts(context.db, now, stuckAfter);
  const current = alertsNow(facts, now);
  const { begun, ended } = alertChanges(facts.raised, current);
  if (ended.length > 0) for (const one of await endAlerts(context.db, ended)) context.log(endLine(one, now));
  if (begun.length === 0) return;
  for (const one of await beginAlerts(context.db, begun)) {
    const figures = begun.find(({ name }) => name === one.name)?.figures;
    context.log({ ...beginLine(one), ...figures });
  }
}

/** Logs that the poller did not run between its last heartbeat and now. */
export function logSilence(context: Pick<Context, "log">, since: number): void {
  context.log(beginLine({ name: alertName("poller_silent"), since }));
}

function beginLine({ name, since }: RaisedAlert): LogEvent {
  return { event: "alert", level: "error", ...alertParts(name), since: new Date(since).toISOString() };
}

function endLine({ name, since }: RaisedAlert, now: number): LogEvent {
  const minutes = Math.max(0, Math.round((now - since) / MINUTE_MS));
  return { event: "alert_ended", ...alertParts(name), since: new Date(since).toISOString(), minutes };
}
