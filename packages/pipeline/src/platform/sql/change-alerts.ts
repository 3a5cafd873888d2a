import { sql, type SQL } from "drizzle-orm";
import { type Database, transactTries } from "@sluice/db";
import { timeAfter, type Time } from "../clock.ts";
import { POLLER_SILENT_AFTER_MS, type RaisedAlert } from "../alert-rules.ts";
import { columns } from "./columns.ts";

const ALERT = columns("name", "since");

const list = (alerts: readonly RaisedAlert[]): SQL => sql`
  (SELECT value ->> 0 AS name, value ->> 1 AS since FROM json_each(${JSON.stringify(alerts.map(ALERT.list))}))`;

/**
 * Raises alerts. Returns those that this call raised: of overlapping runs, each alert belongs to one. If D1 loses the
 * answer of a try, an alert may belong to two rather than to none.
 */
export async function beginAlerts(db: Database, alerts: readonly RaisedAlert[]): Promise<RaisedAlert[]> {
  const insert = sql`
    INSERT INTO alerts (name, since) SELECT name, since FROM ${list(alerts)} WHERE true ON CONFLICT DO NOTHING
    RETURNING name, since`;
  const found = sql`SELECT name, since FROM alerts WHERE (name, since) IN ${list(alerts)}`;
  return transactTries<RaisedAlert>(db, (elapsed) => (elapsed === null ? [insert] : [insert, found]));
}

/** Ends alerts, and not others of the same name. Returns those that this call ended, as `beginAlerts` does. */
export async function endAlerts(db: Database, alerts: readonly RaisedAlert[]): Promise<RaisedAlert[]> {
  const remove = sql`DELETE FROM alerts WHERE (name, since) IN ${list(alerts)} RETURNING name, since`;
  const gone = sql`SELECT name, since FROM ${list(alerts)}`;
  return transactTries<RaisedAlert>(db, (elapsed) => (elapsed === null ? [remove] : [remove, gone]));
}

/**
 * Raises an alert if the poller's last heartbeat is too old. Returns the time of that heartbeat if this statement raised
 * it. Sent before the next heartbeat, in one transaction with it, so that one run notices. If D1 loses the answer, only
 * the end of the alert is logged. Reads one row.
 */
export function noticeSilence(now: Time): SQL {
  return sql`
    INSERT INTO alerts (name, since) SELECT 'poller_silent', at FROM heartbeats
    WHERE name = 'poller' AND at < ${timeAfter(now, -POLLER_SILENT_AFTER_MS)}
    ON CONFLICT DO NOTHING RETURNING since`;
}
