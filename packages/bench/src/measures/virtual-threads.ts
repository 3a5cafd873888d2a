import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Backlog, BacklogCase, Load, LoadCase } from "./capacity.ts";
import type { Freshness, FreshnessCase } from "./freshness.ts";

export type VirtualCase = LoadCase | BacklogCase | FreshnessCase;
export type VirtualResult = Load | Backlog | Freshness;

const THREAD = join(import.meta.dirname, "virtual-thread.ts");

/**
 * Measures each case, in parallel on all cores: the machine's clock does not matter here. Returns results in the given
 * order.
 */
export async function measureVirtual(
  cases: readonly VirtualCase[],
  report: (line: string) => void,
): Promise<VirtualResult[]> {
  const measured: VirtualResult[] = [];
  const left = cases.map((one, index) => ({ one, index }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      report(describeCase(next.one));
      measured[next.index] = await measureInThread(next.one);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return measured;
}

function measureInThread(one: VirtualCase): Promise<VirtualResult> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(THREAD, { workerData: one });
    thread.once("message", (result: VirtualResult) => resolve(result));
    thread.once("error", reject);
    thread.once("exit", () => reject(new Error(`the thread of ${describeCase(one)} ended without a result`)));
  });
}

/** Describes a case. */
export function describeCase(one: VirtualCase): string {
  const service = `service ${one.serviceSeconds} s${one.events ? ", with events" : ""}`;
  switch (one.kind) {
    case "load":
      return `${count(one.jobsPerMinute)} ${one.jobs} jobs per minute for ${one.minutes} minutes, ${service}`;
    case "backlog":
      return `a backlog of ${count(one.jobs)} ${one.of} small jobs, ${service}`;
    case "freshness": {
      const behind = one.backlog > 0 ? ` behind ${count(one.backlog)} in bulk` : "";
      return `${count(one.documentsPerSecond)} documents per second in pushes of ${one.push}${behind}, ${service}`;
    }
  }
}

function count(value: number): string {
  return value.toLocaleString("en");
}
