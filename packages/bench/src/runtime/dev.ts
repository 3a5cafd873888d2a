import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Configuration } from "@sluice/local/configuration";
import { Inspector } from "./inspector.ts";

/** wrangler's own script: its command adds another process. */
const WRANGLER = fileURLToPath(import.meta.resolve("wrangler"));
/**
 * Extra seconds for the build of the inspected Worker, one value per attempt, because a delay does not always suffice.
 */
const BUILD_SECONDS = [5, 2, 8, 5, 2, 8, 5, 12, 5, 2, 8, 12];
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const START_SECONDS = 120;
const STOP_MS = 4_000;

/** Workers under `wrangler dev`, with the inspector of one of them. */
export interface DevRuntime extends AsyncDisposable {
  readonly url: string;
  readonly inspector: Inspector;
}

/**
 * Starts Workers with `wrangler dev`; requests go to the first. With several Workers wrangler exposes the inspector of
 * the one built last, so the build of `inspected` is delayed, and the inspector's owner is verified.
 */
export async function startDev(configurations: readonly Configuration[], inspected: string): Promise<DevRuntime> {
  for (const seconds of BUILD_SECONDS) {
    const runtime = await startOnce(configurations, inspected, seconds);
    const scripts = await runtime.inspector.scripts();
    if (scripts.some((script) => script.includes(`/${inspected}/`))) return runtime;
    await runtime[Symbol.asyncDispose]();
  }
  throw new Error(`the inspector was never that of ${inspected}`);
}

async function startOnce(
  configurations: readonly Configuration[],
  inspected: string,
  buildSeconds: number,
): Promise<DevRuntime> {
  const builtLast = `"${process.execPath}" -e "setTimeout(() => {}, ${buildSeconds * 1_000})"`;
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const paths = configurations.map((configuration) => {
    const directory = join(folder, String(configuration.name));
    mkdirSync(directory);
    const path = join(directory, "wrangler.json");
    const build = configuration.name === inspected ? { build: { command: builtLast } } : {};
    writeFileSync(path, JSON.stringify({ ...configuration, ...build }));
    return path;
  });
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const log = join(folder, "log");
  const output = openSync(log, "a");
  const child = spawn(
    process.execPath,
    [
      "--no-warnings",
      WRANGLER,
      "dev",
      ...paths.map((path) => `--config=${path}`),
      `--persist-to=${join(folder, "state")}`,
      "--ip=127.0.0.1",
      `--port=${port}`,
      `--inspector-port=${inspectorPort}`,
      "--show-interactive-dev-session=false",
    ],
    {
      stdio: ["ignore", output, output],
      // Its own process group, so that the runtime ends with it.
      detached: true,
      env: {
        ...process.env,
        CI: "1",
        NO_COLOR: "1",
        WRANGLER_SEND_METRICS: "false",
        WRANGLER_SEND_ERROR_REPORTS: "false",
        WRANGLER_HIDE_BANNER: "true",
        WRANGLER_WRITE_LOGS: "false",
        WRANGLER_REGISTRY_PATH: join(folder, "registry"),
        CLOUDFLARE_CF_FETCH_ENABLED: "false",
        X_LOCAL_OBSERVABILITY: "false",
      },
    },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-Number(child.pid), name);
    } catch {
      // Already ended.
    }
  };
  const kill = () => signal("SIGKILL");
  const interrupted = () => process.exit(1);
  process.once("exit", kill);
  for (const name of SIGNALS) process.once(name, interrupted);
  const stop = async () => {
    signal("SIGTERM");
    await Promise.race([ended, wait(STOP_MS)]);
    kill();
    process.off("exit", kill);
    for (const name of SIGNALS) process.off(name, interrupted);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  if (!(await answers(url, () => child.exitCode === null))) {
    const said = readFileSync(log, "utf8").slice(-2_000);
    await stop();
    throw new Error(`wrangler dev did not start:\n${said}`);
  }
  const inspector = await Inspector.connect(`ws://127.0.0.1:${inspectorPort}/ws`);
  return {
    url,
    inspector,
    [Symbol.asyncDispose]: async () => {
      inspector.close();
      await stop();
    },
  };
}

/** Runs a Worker's cron handler. */
export async function fireCron(url: string, worker: string): Promise<void> {
  const response = await fetch(`${url}/cdn-cgi/local/explorer/api/local/scheduled?worker=${worker}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ cron: "* * * * *" }),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the cron run of ${worker} was answered with ${response.status}`);
}

async function answers(url: string, isRunning: () => boolean): Promise<boolean> {
  for (const until = performance.now() + START_SECONDS * 1_000; performance.now() < until && isRunning();) {
    try {
      await (await fetch(url)).arrayBuffer();
      return true;
    } catch {
      await wait(200);
    }
  }
  return false;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
