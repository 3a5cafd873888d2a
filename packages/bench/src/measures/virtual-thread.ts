import { parentPort, workerData } from "node:worker_threads";
import { measureBacklog, measureLoad } from "./capacity.ts";
import { measureFreshness } from "./freshness.ts";
import type { VirtualCase, VirtualResult } from "./virtual-threads.ts";

/** Measures one case on the virtual clock, in its own thread. */
parentPort?.postMessage(await measure(workerData as VirtualCase));

async function measure(one: VirtualCase): Promise<VirtualResult> {
  switch (one.kind) {
    case "load":
      return measureLoad(one);
    case "backlog":
      return measureBacklog(one);
    case "freshness":
      return measureFreshness(one);
  }
}
