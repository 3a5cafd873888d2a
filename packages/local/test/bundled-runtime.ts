import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join, matchesGlob } from "node:path";
import { ok, type Result } from "@sluice/core";
import { build, type Plugin } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type V4WorkerOptions } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import { localWorkers, type LocalWorker } from "../src/configuration.ts";
import { HOST } from "../src/port.ts";
import type { Settings } from "../src/settings.ts";
import type { Running } from "../src/start-runtime.ts";

/** A runtime whose bindings can be used from outside. */
export interface BundledRuntime extends Running {
  readonly miniflare: Miniflare;
}

/**
 * Starts the four Workers in one runtime, as `wrangler dev` does, from bundles made once in this process. A restart
 * then costs only the runtime's own start.
 */
export async function startBundled(
  settings: Settings,
  configurations: Record<LocalWorker, string>,
  log: string,
): Promise<Result<BundledRuntime, string>> {
  const workers = await Promise.all(localWorkers.map((worker) => workerOptions(configurations[worker])));
  const options = convertV4MiniflareOptions({
    host: HOST,
    port: settings.port,
    cf: false,
    unsafeTriggerHandlers: true,
    unsafeLocalExplorer: true,
    unsafeInspectDurableObjects: true,
    logRequests: false,
    resourcePersistencePath: join(settings.state, "v3"),
    handleStructuredLogs: ({ level, message }) => appendFileSync(log, `[${level}] ${message}\n`),
    workers,
  });
  const spawned: ChildProcess[] = [];
  const miniflare = children.run(spawned, () => new Miniflare(options));
  const url = await miniflare.ready;
  const [runtime, ...others] = spawned;
  if (runtime === undefined || others.length > 0) throw new Error("a runtime is one process");
  const exited = once(runtime, "exit");
  let isStopping = false;
  let cleanup = Promise.resolve();
  const kill = () => {
    if (isStopping) return;
    isStopping = true;
    runtime.kill("SIGKILL");
    // In the same tick: otherwise Miniflare restarts it.
    cleanup = miniflare.dispose();
  };
  const ended = exited.then(async () => {
    await cleanup;
    return runtime.exitCode;
  });
  const runtimeDied = Promise.withResolvers<string>();
  void exited.then(() => {
    if (!isStopping) runtimeDied.resolve(runtime.signalCode ?? `code ${runtime.exitCode}`);
  });
  return ok({
    miniflare,
    url: url.origin,
    wrangler: {
      ready: Promise.resolve(Number(url.port)),
      ended,
      runtimeDied: runtimeDied.promise,
      kill,
      async stop() {
        kill();
        await ended;
      },
    },
    stopping: new AbortController(),
    cron: Promise.resolve(),
  });
}

/** Collects the processes spawned by a start, because Miniflare does not expose its own. */
const children = new AsyncLocalStorage<ChildProcess[]>();
subscribe("child_process", (message) => {
  children.getStore()?.push((message as { process: ChildProcess }).process);
});

async function workerOptions(path: string): Promise<V4WorkerOptions> {
  const { name } = unstable_readConfig({ config: path });
  const { workerOptions: options, main } = unstable_getMiniflareWorkerOptions(path);
  if (main === undefined) throw new Error(`${path} has no main`);
  return {
    ...(options as V4WorkerOptions),
    name,
    modules: [{ type: "ESModule", path: "index.js", contents: await bundle(main, options.modulesRules ?? []) }],
  } as V4WorkerOptions;
}

type Rules = NonNullable<ReturnType<typeof unstable_getMiniflareWorkerOptions>["workerOptions"]["modulesRules"]>;
const bundles = new Map<string, Promise<string>>();

/** The bundle of an entry file, built once. */
function bundle(main: string, rules: Rules): Promise<string> {
  const made = bundles.get(main) ?? makeBundle(main, rules);
  bundles.set(main, made);
  return made;
}

async function makeBundle(main: string, rules: Rules): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [main],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    plugins: [textModules(rules)],
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`${main} produced no bundle`);
  return output.text;
}

/** Imports files as text according to the rules of the configuration. */
function textModules(rules: Rules): Plugin {
  // Each glob matches a file name in any folder.
  const names = rules
    .filter(({ type }) => type === "Text")
    .flatMap(({ include }) => include.map((glob) => basename(glob)));
  return {
    name: "text-modules",
    setup(building) {
      building.onLoad({ filter: /./ }, async ({ path }) =>
        names.some((name) => matchesGlob(basename(path), name))
          ? { contents: await readFile(path, "utf8"), loader: "text" }
          : null,
      );
    },
  };
}
