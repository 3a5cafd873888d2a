import { err, ok, type Result } from "@sluice/core";
import type { LocalWorker } from "./configuration.ts";
import { readNew, showErrors } from "./log.ts";
import { HOST, portInUse } from "./port.ts";
import type { Settings } from "./settings.ts";
import { pause, unlessAborted } from "./signals.ts";
import { startWrangler, STOP_GRACE_MS, type WranglerProcess } from "./wrangler.ts";

const START_TIMEOUT_MS = 120_000;
/**
 * How long to wait, in milliseconds. `wrangler dev` waits forever for a Worker that does not build, in case it is
 * fixed.
 */
const ERROR_GRACE_MS = 15_000;

export interface Running {
  readonly url: string;
  readonly wrangler: WranglerProcess;
  /** Aborts to stop the start. */
  readonly stopping: AbortController;
  cron: Promise<void>;
}

export type StartRuntime = typeof startRuntime;

/** Starts the four Workers in one runtime and waits until the producer is healthy. */
export async function startRuntime(
  settings: Settings,
  configurations: Record<LocalWorker, string>,
  log: string,
  signal: AbortSignal,
): Promise<Result<Running, string>> {
  const fromHere = readNew(log);
  const wrangler = startWrangler(
    [
      "dev",
      ...Object.values(configurations).map((path) => `--config=${path}`),
      `--persist-to=${settings.state}`,
      `--ip=${HOST}`,
      `--port=${settings.port}`,
      "--inspector-port=0",
      "--show-interactive-dev-session=false",
    ],
    settings.state,
    log,
  );
  const stopping = new AbortController();
  const over = AbortSignal.any([signal, stopping.signal, AbortSignal.timeout(START_TIMEOUT_MS)]);
  void wrangler.ended.then(() => stopping.abort());
  void abortAfterErrors(log, stopping, over);
  const port = await unlessAborted(wrangler.ready, over);
  const url = `http://${HOST}:${port}`;
  if (port === null || !(await isHealthy(url, over))) {
    await wrangler.stop(STOP_GRACE_MS);
    if (signal.aborted) return err("Stopped while starting.");
    const said = fromHere();
    if (/address already in use/i.test(said)) return err(portInUse(settings.port));
    return err(cannotStart("the Workers did not start", log, said));
  }
  stopping.abort();
  return ok({ url, wrangler, stopping: new AbortController(), cron: Promise.resolve() });
}

async function abortAfterErrors(log: string, stopping: AbortController, over: AbortSignal): Promise<void> {
  const fromHere = readNew(log);
  while (!over.aborted) {
    await pause(500, over);
    if (showErrors(fromHere()) !== "") {
      await pause(ERROR_GRACE_MS, over);
      stopping.abort();
    }
  }
}

async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const response = await fetch(`${url}/healthz`, { signal });
      await response.arrayBuffer();
      if (response.ok) return true;
    } catch {
      // Not listening yet.
    }
    await pause(100, signal);
  }
  return false;
}

/** The error to report, with the errors in wrangler's output. */
export function cannotStart(what: string, log: string, said: string): string {
  const errors = showErrors(said);
  return `Sluice could not start: ${what}. ${errors === "" ? `See ${log}` : `${errors}\nMore in ${log}`}`;
}
