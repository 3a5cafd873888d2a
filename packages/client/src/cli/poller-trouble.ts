import { SluiceError, type Sluice } from "../index.ts";
import { ago } from "./text.ts";

/** It runs once a minute; milliseconds. */
const SILENT_AFTER = 5 * 60_000;

/** Says that nothing moves because the poller does not run; `null` where it does, or nobody can tell. */
export async function pollerTrouble(client: Sluice, signal: AbortSignal, now: number): Promise<string | null> {
  try {
    const { poller } = await client.stats({ signal });
    if (poller === null) return "The poller has never run: until it does, nothing is answered. Is its cron there?";
    if (now - Date.parse(poller.last_run_at) < SILENT_AFTER) return null;
    return `The poller ran ${ago(poller.last_run_at, now)}, and should every minute: until it does, nothing is answered.`;
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
}
