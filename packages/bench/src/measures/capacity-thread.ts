import { parentPort, workerData } from "node:worker_threads";
import { measureBacklog, measureLoad, type CapacityCase } from "./capacity.ts";

/** One case of the capacity measure in a thread of its own. */
const one = workerData as CapacityCase;
parentPort?.postMessage(one.kind === "load" ? await measureLoad(one) : await measureBacklog(one));
