import { Store } from "./batches.ts";
import { readMilliseconds, readMode, sendsEvents, type Env } from "./env.ts";
import { Ledger } from "./ledger.ts";
import { ModelProcess } from "./model-process.ts";
import type { RunContext } from "./run-context.ts";

/** One per isolate: the local runtime has one isolate for each Worker, including its Durable Objects. */
export const ledger = new Ledger();

/** Creates the context of `run` from the bindings and vars. */
export function createRunContext(env: Env): RunContext {
  return {
    mode: readMode(env),
    queuedMs: readMilliseconds("QUEUED_MS", env),
    runningMs: readMilliseconds("RUNNING_MS", env),
    store: new Store(env.STATE),
    ledger,
    model: new ModelProcess(env.MODEL_URL ?? "", (url, init) => fetch(url, init)),
    now: () => Date.now(),
    newRequestId: () => crypto.randomUUID(),
    wait: (milliseconds) => scheduler.wait(milliseconds),
    watch: async (requestId) => {
      if (sendsEvents(env)) await env.EVENT_SENDER.getByName("all").watch(requestId);
    },
  };
}
