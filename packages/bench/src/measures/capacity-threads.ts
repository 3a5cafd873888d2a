import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Backlog, CapacityCase, Load } from "./capacity.ts";

const THREAD = join(import.meta.dirname, "capacity-thread.ts");

/** Measures each case, as many at once as there are cores: nothing here depends on the clock. In the order given. */
export async function measureCapacity(
  cases: readonly CapacityCase[],
  tell: (line: string) => void,
): Promise<(Load | Backlog)[]> {
  const measured: (Load | Backlog)[] = [];
  const left = cases.map((one, index) => ({ one, index }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      tell(`capacity: ${describeCase(next.one)}`);
      measured[next.index] = await measureInThread(next.one);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return measured;
}

function measureInThread(one: CapacityCase): Promise<Load | Backlog> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(THREAD, { workerData: one });
    thread.once("message", (result: Load | Backlog) => resolve(result));
    thread.once("error", reject);
    thread.once("exit", () => reject(new Error(`the thread of ${describeCase(one)} ended without a result`)));
  });
}

/** A case in words. */
export function describeCase(one: CapacityCase): string {
  const service = `service ${one.serviceSeconds} s${one.events ? ", with events" : ""}`;
  if (one.kind === "backlog") return `a backlog of ${one.jobs.toLocaleString("en")} ${one.of} small jobs, ${service}`;
  return `${one.jobsPerMinute.toLocaleString("en")} ${one.jobs} jobs a minute for ${one.minutes} minutes, ${service}`;
}
