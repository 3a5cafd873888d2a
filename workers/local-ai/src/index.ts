import { WorkerEntrypoint } from "cloudflare:workers";
import { Store } from "./batches.ts";
import { control } from "./control.ts";
import { readMilliseconds, readMode, type Env } from "./env.ts";
import { Ledger } from "./ledger.ts";
import { ModelProcess } from "./model-process.ts";
import { run } from "./run.ts";

/** One for the isolate: the local runtime has one isolate for each Worker. */
const ledger = new Ledger();

/** Stands in for the `ai` binding: the same method, the same answers, the same errors. */
export class WorkersAI extends WorkerEntrypoint<Env> {
  async run(model: unknown, inputs: unknown, options?: unknown): Promise<unknown> {
    return run(model, inputs, options, {
      mode: readMode(this.env),
      queuedMs: readMilliseconds("QUEUED_MS", this.env),
      runningMs: readMilliseconds("RUNNING_MS", this.env),
      store: new Store(this.env.STATE),
      ledger,
      model: new ModelProcess(this.env.MODEL_URL ?? "", (url, init) => fetch(url, init)),
      now: () => Date.now(),
      newRequestId: () => crypto.randomUUID(),
      wait: (milliseconds) => scheduler.wait(milliseconds),
    });
  }
}

export default {
  fetch: (request, env) => control(request, new Store(env.STATE), ledger),
} satisfies ExportedHandler<Env>;
