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

/** Reports a poller that does not run; `null` if it runs. */
export function pollerTrouble({ poller }: Stats, now: number): string | null {
  if (poller === null) return "The poller has never run, so no results can arrive. Check its cron trigger.";
  if (now - Date.parse(poller.last_run_at) < SILENT_AFTER_MS) return null;
  return `The poller ran ${ago(poller.last_run_at, now)}, but should run every minute. Until it runs, no results can arrive.`;
}
