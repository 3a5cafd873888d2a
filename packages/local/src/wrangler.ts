import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STOP, type ChildEvent } from "./child-events.ts";

/** wrangler's own script. Running it directly avoids the launcher process of its command. */
export const WRANGLER = fileURLToPath(import.meta.resolve("wrangler"));
/** Milliseconds that a process may take to end before it is killed. */
export const STOP_GRACE_MS = 4_000;
const END_WITH_PARENT = import.meta.resolve("./end-with-parent.ts");

/** Settings for wrangler without network, prompts or telemetry, and with all files in the state folder. */
export function wranglerEnvironment(state: string): NodeJS.ProcessEnv {
  // Variables that a user set for other projects do not apply here.
  const { CLOUDFLARE_ENV: _, ...env } = process.env;
  return {
    ...env,
    CI: "1",
    NO_COLOR: "1",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_WRITE_LOGS: "false",
    // Several stacks on one machine must not find each other's Workers by name.
    WRANGLER_REGISTRY_PATH: registryPath(state),
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "false",
    X_LOCAL_OBSERVABILITY: "false",
  };
}

/** The registry through which Workers find each other. Entries of a killed stack are stale. */
export function registryPath(state: string): string {
  return join(state, "registry");
}

export interface WranglerProcess {
  /** The port, once it serves; never settles for a command that does not serve. */
  readonly ready: Promise<number>;
  /** Its exit code (`null` for a signal), once it has ended. */
  readonly ended: Promise<number | null>;
  /** Why a runtime process died, unless wrangler stopped it. */
  readonly runtimeDied: Promise<string>;
  /** Stops it, by force if it takes longer than `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /** Kills it and its children at once, as a crash would. */
  kill(): void;
}

/** Starts wrangler. Its output and that of the Workers go to `log`. */
export function startWrangler(args: readonly string[], state: string, log: string): WranglerProcess {
  const output = openSync(log, "a");
  const child = spawn(process.execPath, ["--no-warnings", "--import", END_WITH_PARENT, WRANGLER, ...args], {
    stdio: ["ignore", output, output, "ipc"],
    env: wranglerEnvironment(state),
  });
  closeSync(output);
  const children = new Set<number>();
  const ready = Promise.withResolvers<number>();
  const runtimeDied = Promise.withResolvers<string>();
  child.on("message", (message) => {
    const port = readyPort(message);
    if (port !== null) ready.resolve(port);
    if (!isChildEvent(message)) return;
    if (message.child === "started") {
      children.add(message.pid);
    } else {
      children.delete(message.pid);
      if (message.runtimeDied !== null) runtimeDied.resolve(message.runtimeDied);
    }
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("exit", resolve);
    child.once("error", reject);
  });
  const kill = () => {
    child.kill("SIGKILL");
    for (const pid of children) killProcess(pid);
    children.clear();
  };
  return {
    ready: ready.promise,
    ended,
    runtimeDied: runtimeDied.promise,
    kill,
    async stop(graceMs) {
      if (isRunning(child)) {
        // It may have just ended and closed the channel.
        if (child.connected) child.send(STOP, () => undefined);
        const timer = setTimeout(kill, graceMs);
        await ended;
        clearTimeout(timer);
      }
      // Remove what wrangler leaves behind if it crashes.
      kill();
    },
  };
}

export function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}

function isChildEvent(message: unknown): message is ChildEvent {
  return typeof message === "object" && message !== null && "child" in message;
}

/** `wrangler dev` reports over IPC when it serves: JSON text with the event's name and the port. */
function readyPort(message: unknown): number | null {
  if (typeof message !== "string") return null;
  const event: unknown = JSON.parse(message);
  if (typeof event !== "object" || event === null || !("event" in event) || !("port" in event)) return null;
  return event.event === "DEV_SERVER_READY" && typeof event.port === "number" ? event.port : null;
}
