import { SluiceError, type Sluice } from "../index.ts";
import type { Stats } from "../types.ts";
import { ago } from "./text.ts";

/** It runs once a minute; milliseconds. */
const SILENT_AFTER_MS = 5 * 60_000;

/** The state of the whole; `null` where the key may not read it, or nobody can tell. */
export async function readStats(client: Sluice, signal: AbortSignal): Promise<Stats | null> {
  try {
    return await client.stats({ signal });
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
}

/** Says that nothing moves because the poller does not run; `null` where it does. */
export function pollerTrouble({ poller }: Stats, now: number): string | null {
  if (poller === null) return "The poller has never run: until it does, nothing is answered. Is its cron there?";
  if (now - Date.parse(poller.last_run_at) < SILENT_AFTER_MS) return null;
  return `The poller ran ${ago(poller.last_run_at, now)}, and should every minute: until it does, nothing is answered.`;
}
