import { env } from "cloudflare:workers";
import { Store } from "../src/batches.ts";
import type { Mode } from "../src/env.ts";
import type { ScoringRequest } from "../src/inputs.ts";
import { Ledger } from "../src/ledger.ts";
import { ModelProcess } from "../src/model-process.ts";
import { parsePlan, type Plan } from "../src/plan.ts";
import type { RunContext } from "../src/run-context.ts";
import { run } from "../src/run.ts";

export const MODEL = "@cf/baai/bge-m3";

export interface Item {
  readonly id: number;
  readonly success: boolean;
  readonly result: { readonly response: readonly { readonly id: number; readonly score: number }[] };
  readonly external_reference: string | null;
  readonly error?: unknown;
}
export interface Answer {
  readonly status?: string;
  readonly responses: readonly Item[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

interface Options {
  readonly mode?: Mode;
  readonly queuedMs?: number;
  readonly runningMs?: number;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly now?: () => number;
  readonly ledger?: Ledger;
  readonly watch?: RunContext["watch"];
}

let lastRequest = 0;

/** A stand-in with a fake clock, on the runtime's real KV. */
export function makeStandIn(options: Options = {}) {
  const clock = { now: 1_000_000, waited: 0 };
  const context: RunContext = {
    mode: options.mode ?? "lexical",
    queuedMs: options.queuedMs ?? 0,
    runningMs: options.runningMs ?? 0,
    store: new Store(env.STATE),
    ledger: options.ledger ?? new Ledger(),
    model: new ModelProcess("http://model", options.fetch ?? (() => Promise.reject(new Error("no process")))),
    now: options.now ?? (() => clock.now),
    newRequestId: () => {
      lastRequest += 1;
      return `request-${lastRequest}`;
    },
    wait: (milliseconds) => {
      clock.waited += milliseconds;
      return Promise.resolve();
    },
    watch: options.watch ?? (async () => undefined),
  };
  return {
    clock,
    ledger: context.ledger,
    store: context.store,
    setPlan: (plan: unknown) => context.ledger.setPlan(context.store, readPlan(plan)),
    run: (model: unknown, inputs: unknown, runOptions?: unknown) => run(model, inputs, runOptions, context),
    submit: async (requests: readonly unknown[]): Promise<string> => {
      const answer = await run(MODEL, { requests }, { queueRequest: true }, context);
      return (answer as { request_id: string }).request_id;
    },
    poll: async (requestId: string): Promise<Answer> =>
      (await run(MODEL, { request_id: requestId }, undefined, context)) as Answer,
  };
}

function readPlan(value: unknown): Plan {
  const parsed = parsePlan(value);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed.plan;
}

/** Requests with a few contexts each, all texts different. */
export function makeRequests(count: number): (ScoringRequest & { readonly external_reference: string })[] {
  return Array.from({ length: count }, (_, index) => ({
    query: `which fruit is number ${index}`,
    contexts: [
      { text: `apple number ${index} is a fruit` },
      { text: `stone ${index} lies in the road` },
      { text: `which pear is it: the ${index}th` },
    ],
    truncate_inputs: true,
    external_reference: `sub:${index}`,
  }));
}

/** The error of a promise that must reject. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const value = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (value instanceof Error) return value;
  throw new Error("it did not throw an error");
}
