import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { D1Database } from "@cloudflare/workers-types";
import { createTestHarness, type TestHarness } from "wrangler";
import {
  fullKey,
  localConfigurations,
  localWorkers,
  ROOT,
  type Adapt,
  type Configuration,
} from "../../src/configuration.ts";

// Tests leave nothing behind: no log file, no telemetry.
process.env["WRANGLER_WRITE_LOGS"] = "false";
process.env["WRANGLER_SEND_METRICS"] = "false";

const KEY = "together-key-0123456789";
/** Short delays, so that work is due at the next run. The harness runs the poller on demand. */
const TICK_SECONDS = 0.02;
/** Most poller runs before a test fails. */
const MAX_RUNS = 2_000;

const QUEUES = ["sluice-interactive", "sluice-bulk", "sluice-interactive-dead", "sluice-bulk-dead"] as const;
type QueueName = (typeof QUEUES)[number];

export interface Submission {
  readonly id: string;
  readonly status: string;
  readonly counts: Readonly<Record<"total" | "queued" | "processing" | "succeeded" | "failed" | "canceled", number>>;
  readonly failures: Readonly<Record<string, number>>;
}

/** The four Workers in one runtime, run by wrangler, with helpers for tests. */
export class Together {
  readonly #harness: TestHarness;
  /** The producer's URL. */
  readonly url: string;
  readonly key = KEY;

  private constructor(harness: TestHarness, url: string) {
    this.#harness = harness;
    this.url = url;
  }

  /**
   * `modelUrl` is the URL of the model process; without it scores come from shared words. `others`: configurations of
   * further Workers. `adapt` changes the configurations of the four.
   */
  static async start(
    modelUrl?: string,
    others: readonly Configuration[] = [],
    adapt: Adapt = (_, configuration) => configuration,
  ): Promise<Together> {
    const configurations = localConfigurations({
      ...(modelUrl === undefined ? { mode: "lexical" } : { mode: "minilm", modelUrl }),
      tickSeconds: TICK_SECONDS,
      events: false,
      apiKeys: [fullKey("together", KEY)],
    });
    const feeder = {
      name: "feeder",
      main: join(ROOT, "packages/local/test/together/feeder.ts"),
      compatibility_date: "2026-08-15",
      queues: { producers: QUEUES.map((queue) => ({ binding: queue, queue })) },
    };
    const four = localWorkers.map((worker) => adapt(worker, configurations[worker]));
    const workers = [...four, feeder, ...others];
    const harness = createTestHarness({ workers: workers.map((config) => ({ config })) });
    const { url } = await harness.listen();
    const together = new Together(harness, url.origin);
    await together.#migrate();
    await together.plan({});
    return together;
  }

  async #migrate(): Promise<void> {
    const folder = join(ROOT, "migrations");
    const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
    const { DB } = await this.#harness.getWorker<{ DB: D1Database }>("sluice-producer").getEnv();
    // One call. A call for each statement takes a second longer.
    await DB.batch(files.toSorted().map((file) => DB.prepare(readFileSync(join(folder, file), "utf8"))));
  }

  async stop(): Promise<void> {
    await this.#harness.close();
  }

  async call(path: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
    const headers = { authorization: `Bearer ${KEY}`, ...init.headers };
    const response = await this.#harness.getWorker("sluice-producer").fetch(path, { ...init, headers });
    return { status: response.status, body: (await response.json()) as unknown };
  }

  /** Pushes documents as JSON. Returns the submission's id. */
  async push(documents: readonly unknown[], more: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await this.call("/v1/documents", {
      method: "POST",
      body: JSON.stringify({ documents, ...more }),
      headers: { "content-type": "application/json" },
    });
    if (status !== 202) throw new Error(`the push was answered with ${status}: ${JSON.stringify(body)}`);
    return (body as { submission: { id: string } }).submission.id;
  }

  /** Pushes lines unchanged. Returns the submission's id and the number of accepted lines. */
  async pushLines(lines: readonly string[], collection: string): Promise<{ id: string; accepted: number }> {
    const { status, body } = await this.call(`/v1/documents?collection=${collection}`, {
      method: "POST",
      body: lines.join("\n"),
      headers: { "content-type": "application/x-ndjson" },
    });
    if (status !== 202) throw new Error(`the push was answered with ${status}: ${JSON.stringify(body)}`);
    const { submission, accepted } = body as { submission: { id: string }; accepted: number };
    return { id: submission.id, accepted };
  }

  async submission(id: string): Promise<Submission> {
    return (await this.call(`/v1/submissions/${id}`)).body as Submission;
  }

  /** Runs the poller until a submission has ended. */
  async finish(id: string): Promise<Submission> {
    return this.runUntil(
      async () => this.submission(id),
      ({ status }) => status === "completed" || status === "canceled",
    );
  }

  /** Runs the poller until the value read is as wanted. */
  async runUntil<T>(read: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
    for (let run = 0; run < MAX_RUNS; run += 1) {
      const value = await read();
      if (wanted(value)) return value;
      await this.poll();
    }
    throw new Error(`after ${MAX_RUNS} runs of the poller it still reads ${JSON.stringify(await read())}`);
  }

  async poll(): Promise<void> {
    await this.#harness.getWorker("sluice-poller").scheduled({ cron: "* * * * *" });
  }

  /** Calls one of the other Workers. */
  async callWorker(name: string, path: string, body?: unknown): Promise<unknown> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await this.#harness.getWorker(name).fetch(path, init);
    return response.status === 404 ? null : response.json();
  }

  /** Sets the stand-in's plan from now on. Its states have no delays. */
  async plan(plan: Record<string, unknown>): Promise<void> {
    const body = JSON.stringify({ queued_ms: 0, running_ms: 0, ...plan });
    const response = await this.#harness.getWorker("local-ai").fetch("/plan", { method: "POST", body });
    if (response.status !== 200) throw new Error(`the plan was refused: ${await response.text()}`);
  }

  async feed(queue: QueueName, body: string): Promise<void> {
    const response = await this.#harness.getWorker("feeder").fetch(`/${queue}`, { method: "POST", body });
    if (response.status !== 200) throw new Error(await response.text());
  }

  async sql<Row = Record<string, unknown>>(statement: string, ...values: (string | number)[]): Promise<Row[]> {
    const { DB } = await this.#harness.getWorker<{ DB: D1Database }>("sluice-producer").getEnv();
    const { results } = await DB.prepare(statement)
      .bind(...values)
      .all<Row>();
    return results;
  }
}
