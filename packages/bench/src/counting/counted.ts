import { countedAi, type AiBinding } from "./counted-ai.ts";
import { countedD1 } from "./counted-d1.ts";
import { countedDelivery, countedQueue } from "./counted-queue.ts";
import { noCounts, type Counts } from "./counts.ts";
import { benchRoute } from "./routes.ts";

/** One per isolate: the local runtime has one isolate for each Worker. */
let counts: Counts = noCounts();
const current = (): Counts => counts;

function take(): Counts {
  const taken = counts;
  counts = noCounts();
  return taken;
}

const QUEUES = ["INTERACTIVE", "BULK", "QUEUE"];
const wrapped = new WeakMap<object, object>();

function countedEnv<Env extends object>(env: Env): Env {
  let found = wrapped.get(env);
  if (found === undefined) {
    const bindings: Record<string, unknown> = { ...(env as Record<string, unknown>) };
    for (const [name, binding] of Object.entries(env) as [string, unknown][]) {
      if (name === "DB") bindings[name] = countedD1(binding as D1Database, current);
      if (name === "AI") bindings[name] = countedAi(binding as AiBinding, current);
      if (QUEUES.includes(name)) bindings[name] = countedQueue(binding as Queue, current);
    }
    found = bindings;
    wrapped.set(env, found);
  }
  return found as Env;
}

async function timed<T>(kind: keyof Counts["busy"], work: () => T | Promise<T>): Promise<T> {
  const startedAt = Date.now();
  counts.requests += 1;
  try {
    return await work();
  } finally {
    counts.busy[kind] += Date.now() - startedAt;
  }
}

/**
 * Wraps a Worker's handlers and counts everything they use at their bindings. Routes under `/bench/` return the counts
 * and maintain the tables; they are not counted.
 */
export function counted<Env extends { readonly DB: D1Database }>(handlers: ExportedHandler<Env>): ExportedHandler<Env> {
  const { fetch, queue, scheduled } = handlers;
  return {
    fetch: async (request, env, context) => {
      const answer = await benchRoute(request, env.DB, take);
      if (answer !== null) return answer;
      if (fetch === undefined) return new Response("no such route", { status: 404 });
      return timed("fetch", () => fetch(request, countedEnv(env), context));
    },
    queue: async (batch, env, context) => {
      if (queue === undefined) throw new Error(`no handler for ${batch.queue}`);
      await timed("queue", async () => {
        const { submits } = counts.ai;
        const delivery = countedDelivery(batch, current);
        await queue(delivery.batch, countedEnv(env), context);
        delivery.done();
        counts.deliveries.push({ messages: batch.messages.length, submits: counts.ai.submits - submits });
      });
    },
    scheduled: async (controller, env, context) => {
      await timed("scheduled", () => scheduled?.(controller, countedEnv(env), context));
    },
  };
}
