import { SluiceError, type Sluice } from "../index.ts";
import type { Stats } from "../types.ts";
import { ago } from "./text.ts";

/** Milliseconds without a run that indicate a problem. The poller runs once a minute. */
const SILENT_AFTER_MS = 5 * 60_000;

/** Reads the service state; `null` if the key may not read it or the request fails. */
export async function readStats(client: Sluice, signal: AbortSignal): Promise<Stats | null> {
  try {
    return await client.stats({ signal });
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
}

/** Reports why nothing is scored: a poller that does not run, or a full database; `null` if neither is the case. */
export function pollerTrouble({ poller, database }: Stats, now: number): string | null {
  if (poller === null) return "The poller has never run, so no results can arrive. Check its cron trigger.";
  if (now - Date.parse(poller.last_run_at) < SILENT_AFTER_MS) return databaseTrouble(database);
  return `The poller ran ${ago(poller.last_run_at, now)}, but should run every minute. Until it runs, no results can arrive.`;
}

function databaseTrouble(database: Stats["database"]): string | null {
  if (database?.level !== "full") return null;
  const share = Math.round((100 * database.bytes) / database.limit_bytes);
  return `The database is full (${share} % of its limit). Queued documents wait and new pushes are refused until it is below 90 %.`;
}
