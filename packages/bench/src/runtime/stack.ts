import { createTestHarness, type TestHarness } from "wrangler";
import { tables } from "../arms/tables.ts";
import { addCounts, noCounts, type Counts } from "../counting/counts.ts";
import { benchConfigurations, KEY, type StackOptions } from "./configurations.ts";
import { migrations } from "./migrations.ts";

/** The stand-in's counts since the plan was set. */
export interface AiCalls {
  readonly submit: { readonly calls: number; readonly taken: number; readonly requests: number };
  readonly poll: { readonly calls: number; readonly answered: number };
  readonly direct: { readonly calls: number };
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const SLUICE = ["sluice-producer", "sluice-consumer", "sluice-poller", "eager-poller"] as const;

/** The Workers of every arm in one runtime, run by wrangler. */
export class Stack implements AsyncDisposable {
  readonly #harness: TestHarness;

  private constructor(harness: TestHarness) {
    this.#harness = harness;
  }

  static async start(options: StackOptions): Promise<Stack> {
    const stack = new Stack(createTestHarness({ workers: benchConfigurations(options).map((config) => ({ config })) }));
    await stack.#harness.listen();
    await stack.#createTables("sluice-producer", migrations());
    for (const [name, statements] of Object.entries(tables)) await stack.#createTables(name, statements);
    return stack;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#harness.close();
  }

  async fetch(
    worker: string,
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const headers = { authorization: `Bearer ${KEY}`, ...init.headers };
    const response = await this.#harness.getWorker(worker).fetch(path, { ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, body: isJson ? (JSON.parse(text) as unknown) : text };
  }

  /** The same, but throws unless the answer has this `status`. */
  async expect<T>(status: number, worker: string, path: string, init?: Parameters<Stack["fetch"]>[2]): Promise<T> {
    const answer = await this.fetch(worker, path, init);
    if (answer.status !== status) {
      throw new Error(
        `${worker} answered ${path} with ${answer.status}, not ${status}: ${JSON.stringify(answer.body).slice(0, 500)}`,
      );
    }
    return answer.body as T;
  }

  async scheduled(worker: string): Promise<void> {
    await this.#harness.getWorker(worker).scheduled({ cron: "* * * * *" });
    // Log lines of the Workers are buffered until they are cleared.
    this.#harness.clearLogs();
  }

  /** The usage of an arm's Workers since the last call. None of them may be running. */
  async takeCounts(arm: string): Promise<Counts> {
    const counts = noCounts();
    for (const worker of workersOf(arm)) addCounts(counts, await this.expect<Counts>(200, worker, "/bench/counts"));
    return counts;
  }

  async clear(arm: string): Promise<void> {
    const [worker = arm] = workersOf(arm);
    await this.expect(200, worker, "/bench/clear");
    await this.takeCounts(arm);
  }

  async readBack(arm: string, table: string): Promise<{ documents: number; scores: number }> {
    const [worker = arm] = workersOf(arm);
    return this.expect(200, worker, `/bench/read-back?table=${table}`);
  }

  async countRows(arm: string, table: string, where = ""): Promise<number> {
    const [worker = arm] = workersOf(arm);
    return (
      await this.expect<{ rows: number }>(200, worker, `/bench/rows?table=${table}&where=${encodeURIComponent(where)}`)
    ).rows;
  }

  /** Bytes of an arm's database. */
  async size(arm: string): Promise<number> {
    const [worker = arm] = workersOf(arm);
    return (await this.expect<{ bytes: number }>(200, worker, "/bench/size")).bytes;
  }

  /** Runs SQL on Sluice's database without counting it. */
  async sql<Row = Record<string, unknown>>(statement: string, ...values: (string | number)[]): Promise<D1Result<Row>> {
    const { DB } = await this.#harness.getWorker<{ DB: D1Database }>("sluice-producer").getEnv();
    return DB.prepare(statement)
      .bind(...values)
      .all<Row>();
  }

  /** Sets the stand-in's plan from now on and resets its counts. */
  async plan(plan: Record<string, unknown>): Promise<void> {
    const body = JSON.stringify({ queued_ms: 0, running_ms: 0, ...plan });
    await this.expect(200, "local-ai", "/plan", { method: "POST", body });
  }

  async aiCalls(): Promise<AiCalls> {
    return this.expect(200, "local-ai", "/calls");
  }

  async #createTables(worker: string, statements: readonly string[]): Promise<void> {
    const { DB } = await this.#harness.getWorker<{ DB: D1Database }>(worker).getEnv();
    for (const statement of statements) await DB.prepare(statement).run();
  }
}

function workersOf(arm: string): readonly string[] {
  return arm === "sluice" ? SLUICE : [arm];
}
