import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { basename } from "node:path";
import { isMainThread } from "node:worker_threads";
import { STOP, type ChildEvent } from "./child-events.ts";

/**
 * Loaded into wrangler's process before wrangler itself (`node --import`) to tie its life to its parent. Without this,
 * wrangler outlives a killed parent, and its runtime outlives wrangler. A Ctrl-C, which reaches all processes at once,
 * would end each of them in a different way.
 */

const SIGNALS: readonly (string | symbol)[] = ["SIGINT", "SIGTERM", "SIGHUP"];

const children = new Set<ChildProcess>();
let stopping = false;

if (isMainThread && process.send !== undefined) {
  endWithParent(process.ppid);
  leaveSignalsToParent();
  process.on("message", (message) => {
    if (message === STOP) stop();
  });
  subscribe("child_process", (message) => {
    const { process: child } = message as { process: ChildProcess };
    child.once("spawn", () => watch(child));
  });
}

function endWithParent(parent: number): void {
  // Wrangler also closes the channel when a command is done. Only a new parent id means that the parent is gone.
  process.on("disconnect", () => {
    setInterval(() => {
      if (process.ppid === parent) return;
      for (const child of children) child.kill("SIGKILL");
      process.exit(1);
    }, 50).unref();
  });
}

function leaveSignalsToParent(): void {
  const ignore = () => undefined;
  for (const signal of SIGNALS) process.on(signal, ignore);
  process.on("newListener", (event: string | symbol, listener: (...values: unknown[]) => void) => {
    if (SIGNALS.includes(event)) queueMicrotask(() => process.removeListener(event, listener));
  });
}

function watch(child: ChildProcess): void {
  children.add(child);
  const { pid } = child;
  const isRuntime = basename(child.spawnfile).startsWith("workerd");
  if (pid !== undefined) report({ child: "started", pid });
  child.once("exit", (code, signal) => {
    children.delete(child);
    const runtimeDied = isRuntime && !child.killed ? (signal ?? `code ${code}`) : null;
    if (pid !== undefined) report({ child: "ended", pid, runtimeDied });
    if (stopping) stop();
  });
  if (stopping) stop();
}

function stop(): void {
  stopping = true;
  // Wrangler would report it as a crash of its runtime.
  process.stdout.write = () => true;
  process.stderr.write = () => true;
  if (children.size === 0) process.exit(0);
  for (const child of children) child.kill("SIGKILL");
}

function report(event: ChildEvent): void {
  if (process.connected) process.send?.(event);
}
