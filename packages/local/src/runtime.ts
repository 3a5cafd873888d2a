import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "@sluice/core";
import { endQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import { readUnfinished } from "@sluice/pipeline/submission/sql/read-unfinished.ts";
import { fullKey, writeLocalConfigurations, type Adapt, type LocalWorker } from "./configuration.ts";
import { runCron } from "./cron.ts";
import { NOTHING_LEFT, type Leftovers } from "./demo/leftovers.ts";
import { lockState } from "./lock.ts";
import { readNew } from "./log.ts";
import { startModel } from "./model-process.ts";
import { portProblem } from "./port.ts";
import type { Settings } from "./settings.ts";
import { unlessAborted } from "./signals.ts";
import { migrationFiles } from "./sql/schema.ts";
import { cannotStart, startRuntime, type Running, type StartRuntime } from "./start-runtime.ts";
import { hasMigrations, withStateDatabase } from "./state-database.ts";
import { prepareState } from "./state.ts";
import { registryPath, startWrangler, STOP_GRACE_MS } from "./wrangler.ts";

/** The whole Sluice stack on this machine. */
export interface Stack {
  readonly url: string;
  /** The log of the Workers and the runtime. */
  readonly log: string;
  /** Documents that earlier runs left in the state. */
  readonly leftovers: Leftovers;
  /** Settles with the reason if a part of the stack ends unexpectedly. */
  readonly failed: Promise<string>;
  /** Failed poller runs with their reasons. */
  onRunFailure(listener: (reason: string) => void): void;
  /** Kills the runtime with everything in its memory, as a power failure would, and restarts it on the same state. */
  restartAfterKill(): Promise<Result<void, string>>;
  /** Stops everything. Settles when no process is left. */
  stop(): Promise<void>;
}

const LOG_BYTES_KEPT = 20_000_000;

/**
 * Starts the stack: migrations, the model if needed, the four Workers in one runtime, the cron. If it cannot, returns a
 * one-line reason and leaves nothing running. Tests use `adapt` to change the Workers' configurations and `start` to
 * replace the runtime.
 */
export async function startStack(
  settings: Settings,
  apiKey: string,
  signal: AbortSignal,
  adapt?: Adapt,
  start: StartRuntime = startRuntime,
): Promise<Result<Stack, string>> {
  await using cleanup = new AsyncDisposableStack();
  const prepared = prepareState(settings.state);
  if (!prepared.ok) return prepared;
  const lock = lockState(settings.state, process.pid);
  if (!lock.ok) {
    const process = lock.error.holder === null ? "" : ` (process ${lock.error.holder})`;
    return err(
      `${settings.state} is in use by another dev or demo${process}: stop it, or set SLUICE_STATE to another folder.`,
    );
  }
  cleanup.defer(() => lock.value.release());
  const taken = settings.port === 0 ? null : await portProblem(settings.port);
  if (taken !== null) return err(taken);
  const log = openLog(settings.state);
  const fromHere = readNew(log);

  const model = settings.localAi === "minilm" ? startModel(log) : null;
  if (model !== null) cleanup.defer(() => model.stop(STOP_GRACE_MS));
  const options = {
    mode: settings.localAi,
    tickSeconds: settings.tickSeconds,
    retention: settings.retention,
    events: settings.events,
    maxDatabaseBytes: settings.maxDatabaseBytes,
    apiKeys: [fullKey("local", apiKey)],
  };
  const folder = join(settings.state, "config");
  const migrated = await migrate(writeLocalConfigurations(folder, options, adapt), settings.state, log, signal);
  if (!migrated) return err(cannotStart("the migrations could not be applied", log, fromHere()));
  const modelUrl = model === null ? undefined : await unlessAborted(model.url, signal);
  if (modelUrl === null) return err(cannotStart("the model process ended", log, fromHere()));
  const withModel = modelUrl === undefined ? options : { ...options, modelUrl };
  const configurations = writeLocalConfigurations(folder, withModel, adapt);

  const failed = Promise.withResolvers<string>();
  void model?.ended.then(() => failed.resolve(`The model process ended unexpectedly. See ${log}`));
  const runFailureListeners: ((reason: string) => void)[] = [];

  let current: Running | null = null;
  let leftovers = NOTHING_LEFT;
  const run = async (): Promise<Result<string, string>> => {
    // Remove a killed runtime's entries, because Workers would be routed to it. The folder itself stays: a user's
    // running Worker watches it.
    const registry = registryPath(settings.state);
    mkdirSync(registry, { recursive: true });
    for (const name of readdirSync(registry)) rmSync(join(registry, name), { recursive: true, force: true });
    // The Queue is in memory, so its messages are lost.
    leftovers = await withStateDatabase(settings.state, async (db) => ({
      lost: await endQueue(db, Date.now()),
      unfinished: await readUnfinished(db),
    }));
    const started = await start(settings, configurations, log, signal);
    if (!started.ok) return started;
    const running = started.value;
    current = running;
    const end = (reason: string) => {
      if (running.stopping.signal.aborted) return;
      running.stopping.abort();
      failed.resolve(reason);
    };
    void running.wrangler.ended.then((code) => end(`The runtime ended unexpectedly (${code ?? "killed"}). See ${log}`));
    void running.wrangler.runtimeDied.then((reason) => end(`The runtime died unexpectedly (${reason}). See ${log}`));
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
    get leftovers() {
      return leftovers;
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

/** Applies new migrations. Calling wrangler takes seconds, so it is skipped if there are none. */
async function migrate(
  configurations: Record<LocalWorker, string>,
  state: string,
  log: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (hasMigrations(state, migrationFiles())) return true;
  const wrangler = startWrangler(
    ["d1", "migrations", "apply", "sluice", "--local", "--persist-to", state, "-c", configurations.producer],
    state,
    log,
  );
  const code = await unlessAborted(wrangler.ended, signal);
  await wrangler.stop(STOP_GRACE_MS);
  return code === 0;
}

function openLog(state: string): string {
  const log = join(state, "sluice.log");
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_KEPT) renameSync(log, `${log}.old`);
  return log;
}
