import { WorkerEntrypoint } from "cloudflare:workers";
import { Store } from "./batches.ts";
import { control } from "./control.ts";
import { createRunContext, ledger } from "./create-run-context.ts";
import type { Env } from "./env.ts";
import { run } from "./run.ts";

export { EventSender } from "./event-sender.ts";

/** Replaces the `ai` binding: the same method, the same answers, the same errors. */
export class WorkersAI extends WorkerEntrypoint<Env> {
  async run(model: unknown, inputs: unknown, options?: unknown): Promise<unknown> {
    return run(model, inputs, options, createRunContext(this.env));
  }
}

export default {
  fetch: (request, env) => control(request, new Store(env.STATE), ledger),
} satisfies ExportedHandler<Env>;
