import type { Caller } from "../world/caller.ts";
import type { Sqlite } from "../d1/sqlite.ts";
import type { Change } from "./changes.ts";
import { bagFlaw } from "./compare-lists.ts";

/** How an alert begins or ends, in a table and in a log. */
const EVENTS: Readonly<Record<string, "insert" | "delete">> = { alert: "insert", alert_ended: "delete" };

/** The fields of a line, if it is about an alert. */
interface LoggedAlert {
  readonly event: string;
  readonly alert: string;
  readonly subject: string | null;
  readonly since: string;
}

/**
 * The alerts in D1 and in the log. Each line belongs to a change of D1, and each change to one line: exactly one if the
 * Worker that made it lived and heard D1's answers. In D1 an alert begins and ends in turn, so it does in the log.
 */
export class Alerts {
  /** When each raised alert began, by its name. */
  readonly raised = new Map<string, number>();
  readonly #changed = new Set<string>();
  readonly #unlogged = new Map<Caller, string[]>();

  /** Takes a change of the table, and returns the flaw in it, or `null`. */
  take(change: Change, by: Caller): string | null {
    const [, event, name, since] = change;
    if (event === "update") return `${by.name} changed the alert ${name}`;
    if (event === "insert") this.raised.set(String(name), Number(since));
    else this.raised.delete(String(name));
    const key = `${event} ${name} ${since}`;
    this.#changed.add(key);
    this.#unlogged.set(by, [...(this.#unlogged.get(by) ?? []), key]);
    return null;
  }

  /** Takes a logged line, and returns the flaw in it, or `null`. */
  log(text: string, by: Caller): string | null {
    const { event: logged, alert, subject, since } = JSON.parse(text) as LoggedAlert;
    const event = EVENTS[logged];
    if (event === undefined) return null;
    const name = subject === null ? alert : `${alert}:${subject}`;
    const key = `${event} ${name} ${Date.parse(since)}`;
    if (!this.#changed.has(key)) return `${by.name} logs an alert that D1 does not have: ${text}`;
    const unlogged = this.#unlogged.get(by) ?? [];
    const index = unlogged.indexOf(key);
    if (index >= 0) unlogged.splice(index, 1);
    else if (!by.hadFault) return `${by.name} logs an alert of another run: ${text}`;
    return null;
  }

  /** Returns the flaw of a Worker that ended, or `null`. Only one that heard every answer must have logged everything. */
  flawAtEnd(by: Caller): string | null {
    const unlogged = this.#unlogged.get(by) ?? [];
    this.#unlogged.delete(by);
    return unlogged.length === 0 || by.isDead || by.hadFault ? null : `${by.name} did not log: ${unlogged.join(", ")}`;
  }
}

/** Checks, hours after the last event, that alerts are raised for what is still wrong, and for nothing else. */
export function alertsFlaw({
  alerts,
  sqlite,
}: {
  readonly alerts: Alerts;
  readonly sqlite: Pick<Sqlite, "rows">;
}): string | null {
  const wrong = sqlite.rows(`
    SELECT 'messages_quarantined' AS name WHERE EXISTS (SELECT 1 FROM malformed_messages)
    UNION
    SELECT replace(scope, 'model:', 'model_paused:') FROM pauses WHERE reason = 'configuration'
    UNION
    SELECT 'database_' || level FROM database_size WHERE level IN ('pressure', 'full')
    UNION
    SELECT 'database_pressure' FROM database_size WHERE level = 'full'`);
  return bagFlaw(
    "the raised alerts",
    wrong.map(({ name }) => String(name)),
    [...alerts.raised.keys()],
  );
}
