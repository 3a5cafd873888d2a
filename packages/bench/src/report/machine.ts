import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";

/** The machine and versions of a run. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly system: string;
  readonly node: string;
  readonly wrangler: string;
  readonly workerd: string;
  /** The load average over the minute before the run. */
  readonly load: number;
}

export function describeMachine(): Machine {
  const processors = cpus();
  const wrangler = fileURLToPath(import.meta.resolve("wrangler"));
  const workerd = createRequire(wrangler).resolve("workerd/package.json");
  return {
    processor: processors[0]?.model ?? "unknown",
    cores: processors.length,
    memoryGigabytes: Math.round(totalmem() / 1e9),
    system: `${type()} ${release()}`,
    node: process.version,
    wrangler: versionIn(createRequire(import.meta.url).resolve("wrangler/package.json")),
    workerd: versionIn(workerd),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function versionIn(path: string): string {
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
