import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isRunning } from "./wrangler.ts";

const SERVER = fileURLToPath(import.meta.resolve("./model/server.ts"));

export interface ModelProcess {
  /** Its URL; `null` if it ended before it could listen. */
  readonly url: Promise<string | null>;
  readonly ended: Promise<number | null>;
  stop(graceMs: number): Promise<void>;
}

/** Starts the process that holds the model. It exits when this process is gone, because its stdin closes. */
export function startModel(log: string): ModelProcess {
  const output = openSync(log, "a");
  const child = spawn(process.execPath, ["--no-warnings", SERVER], { stdio: ["pipe", "pipe", output] });
  closeSync(output);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the model's process has no pipes");
  // If the process dies, its exit is reported, not the broken pipe.
  stdin.on("error", () => undefined);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("exit", resolve);
    child.once("error", reject);
  });
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: stdout }).on("line", (line) => {
      const port = listeningPort(line);
      if (port !== null) resolve(`http://127.0.0.1:${port}`);
    });
  });
  return {
    url: Promise.race([listening, ended.then(() => null)]),
    ended,
    async stop(graceMs) {
      if (!isRunning(child)) return;
      stdin.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function listeningPort(line: string): number | null {
  if (!line.startsWith("{")) return null;
  const value: unknown = JSON.parse(line);
  if (typeof value !== "object" || value === null || !("listening" in value)) return null;
  return typeof value.listening === "number" ? value.listening : null;
}
