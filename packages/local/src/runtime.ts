import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "@sluice/core";
import { fullKey, writeLocalConfigurations, type LocalWorker } from "./configuration.ts";
import { runCron } from "./cron.ts";
import { lockState } from "./lock.ts";
import { readNew, showErrors } from "./log.ts";
import { startModel } from "./model-process.ts";
import { HOST, isPortFree } from "./port.ts";
import type { Settings } from "./settings.ts";
import { pause } from "./signals.ts";
import { registryPath, startWrangler, type WranglerProcess } from "./wrangler.ts";

/** The whole of Sluice, running on this machine. */
export interface Stack {
  readonly url: string;
  /** What the Workers and the runtime say. */
  readonly log: string;
  /** Says why, if a part of it ends by itself. */
  readonly failed: Promise<string>;
  /** The poller's runs that failed, each with the reason. */
  onRunFailure(listener: (reason: string) => void): void;
  /** Kills the runtime with all it holds in memory, as a power cut would, and starts it again on the same state. */
  restartAfterKill(): Promise<Result<void, string>>;
  /** Ends everything. Settles when no process is left. */
  stop(): Promise<void>;
}

const LOG_BYTES_KEPT = 20_000_000;
const START_TIMEOUT_MS = 120_000;
/** A Worker that does not build keeps `wrangler dev` waiting for a better one: nobody else is. */
const ERROR_GRACE_MS = 5_000;
const STOP_GRACE_MS = 4_000;

/**
 * Starts the stack: migrations, the model where it is wanted, the four Workers in one runtime, the
 * cron. Gives one line when it cannot, and leaves nothing running then.
 */
export async function startStack(
  settings: Settings,
  apiKey: string,
  signal: AbortSignal,
): Promise<Result<Stack, string>> {
  await using cleanup = new AsyncDisposableStack();
  mkdirSync(settings.state, { recursive: true });
  const lock = lockState(settings.state, process.pid);
  if (!lock.ok) {
    const process = lock.error.holder === null ? "" : ` (process ${lock.error.holder})`;
    return err(`${settings.state} is in use by another dev or demo${process}: stop it, or set SLUICE_STATE to another folder.`);
  }
  cleanup.defer(() => lock.value.release());
  if (settings.port !== 0 && !(await isPortFree(settings.port))) {
    return err(portInUse(settings.port));
  }
  rmSync(registryPath(settings.state), { recursive: true, force: true });
  const log = openLog(settings.state);
  const fromHere = readNew(log);

  const model = settings.localAi === "minilm" ? startModel(log) : null;
  if (model !== null) cleanup.defer(() => model.stop(STOP_GRACE_MS));
  const options = { mode: settings.localAi, tickSeconds: settings.tickSeconds, apiKeys: [fullKey("local", apiKey)] };
  const folder = join(settings.state, "config");
  const migrated = await migrate(writeLocalConfigurations(folder, options), settings.state, log, signal);
  if (!migrated) return err(cannotStart("the migrations could not be applied", log, fromHere()));
  const modelUrl = model === null ? undefined : await unlessAborted(model.url, signal);
  if (modelUrl === null) return err(cannotStart("the model's process ended", log, fromHere()));
  const configurations = writeLocalConfigurations(folder, modelUrl === undefined ? options : { ...options, modelUrl });

  const failed = Promise.withResolvers<string>();
  void model?.ended.then(() => failed.resolve(`The model's process ended by itself: see ${log}`));
  const runFailureListeners: ((reason: string) => void)[] = [];

  let current: Running | null = null;
  const run = async (): Promise<Result<string, string>> => {
    const started = await startRuntime(settings, configurations, log, signal);
    if (!started.ok) return started;
    const running = started.value;
    current = running;
    const end = (reason: string) => {
      if (running.stopping.signal.aborted) return;
      running.stopping.abort();
      failed.resolve(reason);
    };
    void running.wrangler.ended.then((code) => end(`The runtime ended by itself (${code ?? "killed"}): see ${log}`));
    void running.wrangler.runtimeDied.then((reason) => end(`The runtime died by itself (${reason}): see ${log}`));
    running.cron = runCron(running.url, settings.tickSeconds, running.stopping.signal, (reason) => {
      for (const listener of runFailureListeners) listener(reason);
    });
    return ok(running.url);
  };
  cleanup.defer(async () => {
    current?.stopping.abort();
    await current?.wrangler.stop(STOP_GRACE_MS);
    await current?.cron;
  });

  const url = await run();
  if (!url.ok) return url;
  const running = cleanup.move();
  let stopped: Promise<void> | null = null;
  return ok({
    get url() {
      return current?.url ?? url.value;
    },
    log,
    failed: failed.promise,
    onRunFailure(listener) {
      runFailureListeners.push(listener);
    },
    async restartAfterKill() {
      current?.stopping.abort();
      current?.wrangler.kill();
      await current?.wrangler.ended;
      await current?.cron;
      const again = await run();
      return again.ok ? ok(undefined) : again;
    },
    stop() {
      stopped ??= running.disposeAsync();
      return stopped;
    },
  });
}

interface Running {
  readonly url: string;
  readonly wrangler: WranglerProcess;
  /** Aborted when its end is wanted. */
  readonly stopping: AbortController;
  cron: Promise<void>;
}

async function startRuntime(
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
    return err(cannotStart("the Workers did not come up", log, said));
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
      // Not there yet.
    }
    await pause(100, signal);
  }
  return false;
}

/** Applies what is new in migrations/: wrangler alone knows what that is. */
async function migrate(
  configurations: Record<LocalWorker, string>,
  state: string,
  log: string,
  signal: AbortSignal,
): Promise<boolean> {
  const wrangler = startWrangler(
    ["d1", "migrations", "apply", "sluice", "--local", "--persist-to", state, "-c", configurations.producer],
    state,
    log,
  );
  const code = await unlessAborted(wrangler.ended, signal);
  await wrangler.stop(STOP_GRACE_MS);
  return code === 0;
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return Promise.race([
    promise,
    new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener("abort", () => resolve(null), { once: true });
    }),
  ]);
}

function openLog(state: string): string {
  const log = join(state, "sluice.log");
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_KEPT) renameSync(log, `${log}.old`);
  return log;
}

const portInUse = (port: number) =>
  `Port ${port} is in use: stop what listens there, or set SLUICE_PORT to another one (0 picks a free one).`;

function cannotStart(what: string, log: string, said: string): string {
  const errors = showErrors(said);
  return `Sluice could not start: ${what}. ${errors === "" ? `See ${log}` : `${errors}\nMore in ${log}`}`;
}
