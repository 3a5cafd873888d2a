import { aroundDatabase } from "@sluice/pipeline/test-support/around-database.ts";
import type { Asked, GoOn, KilledWorker, Step } from "../step.ts";

/** The bindings of a killable Worker, and the URL of its director. */
interface SteppingEnv {
  readonly DIRECTOR: string;
}

interface AiBinding {
  run(model: string, inputs: Record<string, unknown>, options?: { readonly queueRequest: true }): Promise<unknown>;
}

const realNow = Date.now.bind(Date);
let ahead = 0;
// The director sets the time, so leases expire and messages age on demand.
Date.now = () => realNow() + ahead;

let isolate: string | null = null;

/** Reports a step and waits for the answer; there is none if the runtime is killed at the step. */
async function tell(director: string, step: Omit<Step, "isolate">): Promise<void> {
  isolate ??= crypto.randomUUID();
  const response = await fetch(director, { method: "POST", body: JSON.stringify({ ...step, isolate }) });
  ({ ahead } = await response.json<GoOn>());
}

type Around = <T>(asked: Asked, what: string, run: () => Promise<T>) => Promise<T>;

function aroundOf(worker: KilledWorker, { DIRECTOR }: SteppingEnv): Around {
  return async (asked, what, run) => {
    await tell(DIRECTOR, { worker, asked, what, moment: "before", databaseBytes: null });
    let databaseBytes: number | null = null;
    try {
      const answer = await run();
      if (asked === "DB") databaseBytes = reportedBytes(answer);
      return answer;
    } finally {
      await tell(DIRECTOR, { worker, asked, what, moment: "after", databaseBytes });
    }
  };
}

/** The size of the database after a statement or the last one of a batch. */
function reportedBytes(answer: unknown): number | null {
  const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
  return (last as Partial<D1Result> | null | undefined)?.meta?.size_after ?? null;
}

/** D1's clock is ahead like the Workers' clocks. */
function onDirectedClock(d1: D1Database): D1Database {
  return new Proxy(d1, {
    get(target, property) {
      if (property === "prepare")
        return (sql: string) =>
          target.prepare(sql.replaceAll("unixepoch('subsec')", `(unixepoch('subsec') + ${ahead / 1_000})`));
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function steppingQueue(queue: Queue, name: "INTERACTIVE" | "BULK", around: Around): Queue {
  return {
    sendBatch: (messages: Iterable<MessageSendRequest>) => around(name, "sendBatch", () => queue.sendBatch(messages)),
  } as unknown as Queue;
}

function steppingAi(ai: AiBinding, around: Around): AiBinding {
  return {
    run: (model, inputs, options) =>
      around("AI", inputs["request_id"] === undefined ? "submit" : "poll", () =>
        options === undefined ? ai.run(model, inputs) : ai.run(model, inputs, options),
      ),
  };
}

function steppingEnv<Env extends SteppingEnv>(env: Env, around: Around): Env {
  const bindings: Record<string, unknown> = { ...(env as unknown as Record<string, unknown>) };
  for (const [name, binding] of Object.entries(bindings)) {
    if (name === "DB")
      bindings[name] = aroundDatabase(onDirectedClock(binding as D1Database), ({ sql }, run) => around("DB", sql, run));
    if (name === "AI") bindings[name] = steppingAi(binding as AiBinding, around);
    if (name === "INTERACTIVE" || name === "BULK") bindings[name] = steppingQueue(binding as Queue, name, around);
  }
  return bindings as unknown as Env;
}

/** Wraps a Worker's handlers. Each of their calls is reported to the director before and after. */
export function stepping<Env extends object>(
  worker: KilledWorker,
  { fetch, queue, scheduled }: ExportedHandler<Env>,
): ExportedHandler<Env & SteppingEnv> {
  return {
    fetch: async (request, env, context) => {
      if (fetch === undefined) return new Response("no such route", { status: 404 });
      const { pathname } = new URL(request.url);
      const around = aroundOf(worker, env);
      const answer = async () => fetch(request, steppingEnv(env, around), context);
      // A request during the start of the runtime, when no director is active.
      return pathname === "/healthz"
        ? fetch(request, env, context)
        : around("run", `${request.method} ${pathname}`, answer);
    },
    queue: async (batch, env, context) => {
      const around = aroundOf(worker, env);
      await around("run", batch.queue, async () => queue?.(batch, steppingEnv(env, around), context));
    },
    scheduled: async (controller, env, context) => {
      const around = aroundOf(worker, env);
      await around("run", "scheduled", async () => scheduled?.(controller, steppingEnv(env, around), context));
    },
  };
}
