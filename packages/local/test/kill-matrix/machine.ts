import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parsePlan } from "@sluice/local-ai/plan";
import type { Miniflare } from "miniflare";
import * as z from "zod";
import type { Adapt, Configuration, LocalWorker } from "../../src/configuration.ts";
import { fireCron } from "../../src/cron.ts";
import { queryD1 } from "../../src/demo/d1.ts";
import { startStack, type Stack } from "../../src/runtime.ts";
import type { Settings } from "../../src/settings.ts";
import { startBundled } from "../bundled-runtime.ts";
import { migrateState } from "../migrated-state.ts";
import { Director } from "./director.ts";

const KEY = "kill-matrix-key-0123456789";
/** Milliseconds between poller runs on the Workers' clocks, as in production. */
const RUN_INTERVAL_SECONDS = 60;
/** Seconds between cron runs: so long that cron fires once per start, and the test makes all other runs. */
const NO_CRON_SECONDS = 1_000_000;
/** Timeout in milliseconds. On an idle machine these waits take a second or two. */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 20;

/** The stand-in's faults for texts that contain these words. Its counters restart with each start. */
export const WORDS = {
  /** Refused, with every batch that contains it. */
  poison: "POISONOUS",
  /** Missing in the first answer. */
  shy: "SHYNESS",
  /** Fails in three answers, the limit of a document. */
  weak: "WEAKNESS",
} as const;
const PLAN = {
  queued_ms: 0,
  running_ms: 0,
  submit: [{ fault: "5006", match: WORDS.poison }],
  items: [
    { fault: "missing", match: WORDS.shy, times: 1 },
    { fault: "failed_text", match: WORDS.weak, times: 3 },
  ],
};
const STAND_IN = "/cdn-cgi/local/explorer/api/storage/kv/namespaces/local-ai";

const batchKeysSchema = z.object({
  result: z.array(z.object({ name: z.string() })),
  result_info: z.object({ cursor: z.string().optional() }).optional(),
});
const batchSchema = z.object({ references: z.array(z.string().nullable()) });

/** A batch that the stand-in accepted. */
export interface TakenBatch {
  readonly requestId: string;
  readonly references: readonly (string | null)[];
}

/** The stack of `dev` and `demo`, with Workers that can be killed at a step. Its state persists. */
export class Machine {
  readonly director: Director;
  readonly #state: string;
  #stack: Stack | null = null;
  #miniflare: Miniflare | null = null;

  private constructor(state: string, director: Director) {
    this.#state = state;
    this.director = director;
  }

  /** `changed`: settings other than those of the kill matrix. `adapt` changes the configurations further. */
  static async start(
    signal: AbortSignal,
    changed: Partial<Settings> = {},
    adapt: Adapt = (_, configuration) => configuration,
  ): Promise<Machine> {
    const state = mkdtempSync(join(tmpdir(), "sluice-kill-"));
    migrateState(state);
    const machine: Machine = new Machine(state, await Director.start(async () => machine.#restart()));
    const settings = {
      port: 0,
      state,
      tickSeconds: NO_CRON_SECONDS,
      localAi: "lexical",
      // Only the test triggers poller runs.
      events: false,
      retention: {},
      apiKey: null,
      maxDatabaseBytes: null,
      ...changed,
    } as const;
    const adapted: Adapt = (worker, configuration) =>
      adapt(worker, killable(worker, configuration, machine.director.url));
    const stack = await startStack(settings, KEY, signal, adapted, async (used, paths, log) => {
      const started = await startBundled(used, paths, log);
      if (started.ok) machine.#miniflare = started.value.miniflare;
      return started;
    });
    if (!stack.ok) throw new Error(stack.error);
    machine.#stack = stack.value;
    // Writes the stand-in's plan to its store directly: only the first Worker has a route here.
    const parsed = parsePlan(PLAN);
    if (!("plan" in parsed)) throw new Error(parsed.problem);
    await machine.#fetch(`${STAND_IN}/values/plan`, { method: "PUT", body: JSON.stringify(parsed.plan) });
    return machine;
  }

  async stop(): Promise<void> {
    await this.#stack?.stop();
    this.director.stop();
    rmSync(this.#state, { recursive: true, force: true });
  }

  async #restart(): Promise<void> {
    const restarted = await this.#running().restartAfterKill();
    if (!restarted.ok) throw new Error(restarted.error);
  }

  #running(): Stack {
    if (this.#stack === null) throw new Error("the stack is not started");
    return this.#stack;
  }

  /** Calls the API. */
  async call(
    path: string,
    init: {
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: unknown }> {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...init.headers };
    const response = await fetch(`${this.#running().url}${path}`, { ...init, headers });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Calls the API and requires status 200. */
  async read<T>(path: string, init: Parameters<Machine["call"]>[1] = {}): Promise<T> {
    const { status, body } = await this.call(path, init);
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${JSON.stringify(body)}`);
    return body as T;
  }

  async sql<Shape extends z.ZodType>(statement: string, shape: Shape, ...values: string[]): Promise<z.output<Shape>[]> {
    return queryD1(this.#running().url, statement, values, shape);
  }

  /** Sends the event with which Workers AI reports the end of a batch. */
  async reportEnd(requestId: string): Promise<void> {
    if (this.#miniflare === null) throw new Error("the stack is not started");
    const events = await this.#miniflare.getQueueProducer("EVENTS", "local-ai");
    await events.send({ type: "cf.workersAi.model.batch.succeeded", payload: { requestId } });
  }

  /** Advances the clock by a minute and runs the poller. */
  async tick(): Promise<void> {
    await this.director.passTime(RUN_INTERVAL_SECONDS * 1_000);
    await fireCron(this.#running().url, AbortSignal.timeout(PATIENCE_MS));
    await this.director.untilIdle();
  }

  /** Runs the poller until the condition holds. */
  async tickUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await this.#until(what, isSo, () => this.tick());
  }

  /** Waits until the condition holds, without poller runs. */
  async waitUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await this.#until(what, isSo, async () => pause(LOOK_AGAIN_MS));
  }

  async #until(what: string, isSo: () => Promise<boolean>, meanwhile: () => Promise<unknown>): Promise<void> {
    for (const until = performance.now() + PATIENCE_MS; !(await isSo());) {
      if (performance.now() > until) throw new Error(`condition not reached: ${what}`);
      await meanwhile();
    }
  }

  /** The batches that the stand-in has accepted since the state was created, from its files. */
  async batches(): Promise<TakenBatch[]> {
    const batches: TakenBatch[] = [];
    let cursor = "";
    do {
      const page = await this.#fetch(`${STAND_IN}/keys?prefix=batch:&cursor=${cursor}`);
      const { result, result_info } = batchKeysSchema.parse(await page.json());
      for (const { name } of result) {
        const value = await this.#fetch(`${STAND_IN}/values/${encodeURIComponent(name)}`);
        batches.push({ requestId: name.slice("batch:".length), ...batchSchema.parse(await value.json()) });
      }
      cursor = result_info?.cursor ?? "";
    } while (cursor !== "");
    return batches;
  }

  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(`${this.#running().url}${path}`, init);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`);
    return response;
  }
}

/** The Worker's configuration with the entry that reports its steps. The stand-in is unchanged. */
function killable(worker: LocalWorker, configuration: Configuration, director: string): Configuration {
  if (worker === "local-ai") return configuration;
  const vars = { ...configuration.vars, DIRECTOR: director };
  return {
    ...configuration,
    main: join(import.meta.dirname, "workers", `${worker}.ts`),
    vars: worker === "producer" ? vars : { ...vars, RUN_INTERVAL_SECONDS: String(RUN_INTERVAL_SECONDS) },
  };
}
