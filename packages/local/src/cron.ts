import { isAborted, pause } from "./signals.ts";

/**
 * Timeout of a poller run in milliseconds. A run takes less than a minute, and one that hangs must not stop the cron.
 */
const RUN_TIMEOUT_MS = 120_000;
const FAILURE_PAUSE_MS = 1_000;
const POLLER = "sluice-poller";

/**
 * Fires the poller's cron every `tickSeconds`, because the local runtime does not. Cloudflare fires it every minute.
 * Runs do not overlap. `signal` stops it.
 */
export async function runCron(
  url: string,
  tickSeconds: number,
  signal: AbortSignal,
  onFailure: (reason: string) => void,
): Promise<void> {
  while (!isAborted(signal)) {
    const started = performance.now();
    const failure = await fireCron(url, signal);
    if (failure !== null) {
      // If the runtime has just ended, that is reported elsewhere.
      await pause(FAILURE_PAUSE_MS, signal);
      if (!isAborted(signal)) onFailure(failure);
    }
    await pause(tickSeconds * 1_000 - (performance.now() - started), signal);
  }
}

/** Runs the poller once and waits for it. Returns the reason if the run failed. */
export async function fireCron(url: string, signal: AbortSignal): Promise<string | null> {
  try {
    const response = await fetch(`${url}/cdn-cgi/local/explorer/api/local/scheduled?worker=${POLLER}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cron: "* * * * *" }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(RUN_TIMEOUT_MS)]),
    });
    const text = await response.text();
    if (!response.ok) return `the runtime answered ${response.status} to the cron`;
    return text.includes('"outcome":"ok"') ? null : "the poller's run failed";
  } catch (error) {
    return `the cron got no answer (${error instanceof Error ? error.message : String(error)})`;
  }
}
