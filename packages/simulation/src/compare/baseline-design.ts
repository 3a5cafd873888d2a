import type { Call } from "@sluice/producer/src/context.ts";
import type { Baseline, BaselineEnv, BaselineMessage, Shown } from "../baselines/baseline.ts";
import type { Cron } from "../world/cron.ts";
import type { Invocation } from "../world/invocation.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import { Pushing } from "../world/pushing.ts";
import type { QueuedMessage } from "../world/queued-message.ts";
import { SimulatedQueue } from "../world/queue.ts";
import type { Answer } from "../world/requests.ts";
import { MINUTE, type World } from "../world/world.ts";
import type { Design } from "./design.ts";
import { runDirectly } from "./direct-ai.ts";
import { plainAnswer } from "./plain-answer.ts";
import { TextAccounts } from "./text-accounts.ts";

/** Consecutive cron runs without a change, ten minutes apart, after which the state counts as final. */
const IDLE_RUNS = 15;

/**
 * A baseline over the same Queue, D1 and Workers AI as Sluice, under the same faults, with the Queue settings of
 * Sluice's bulk lane but no dead-letter queue. Answers of Workers AI reach it unwrapped, never as streams.
 */
export class BaselineDesign implements Design {
  readonly pushing: Pushing;
  readonly cron: Cron | null;
  readonly #world: World;
  readonly #baseline: Baseline;
  readonly #queue: SimulatedQueue;
  readonly #nameOf = new Map<Push, string>();

  constructor(world: World, baseline: Baseline, pushes: readonly Push[]) {
    this.#world = world;
    this.#baseline = baseline;
    world.accounts = new TextAccounts(world, pushes);
    this.#queue = new SimulatedQueue(
      world,
      {
        queue: "documents",
        max_batch_size: 100,
        max_batch_timeout: 5,
        max_retries: 4,
        retry_delay: 30,
        max_concurrency: 3,
      },
      { deadLetterQueue: () => null, isDeadLetterQueue: () => true },
      (batch) => this.#deliver(this.#queue, batch),
    );
    this.pushing = new Pushing(world, {
      post: (by, call) => this.#post(by, call),
      accepted: (push, answer) => this.#nameOf.set(push, String(answer.body["push"])),
    });
    const { poll } = baseline;
    this.cron =
      poll === null
        ? null
        : {
            isDue: () => this.#openBatches() > 0,
            poll: () => {
              world.invoke(
                "poller",
                (by) => poll(this.#env(by)),
                () => undefined,
              );
            },
          };
  }

  async becomeQuiet(stop: () => boolean): Promise<void> {
    const { timeline } = this.#world;
    for (let idle = 0; !stop();) {
      if (this.cron === null || idle >= IDLE_RUNS || this.#openBatches() === 0) {
        if (timeline.nextTime === Infinity) return;
        const before = this.#state();
        await timeline.runUntil(timeline.nextTime, stop);
        if (before !== this.#state()) idle = 0;
        continue;
      }
      const before = this.#state();
      this.cron.poll();
      await timeline.runUntil(timeline.now + (idle === 0 ? MINUTE : 10 * MINUTE), stop);
      idle = before === this.#state() ? idle + 1 : 0;
    }
  }

  async read(push: Push, document: PushedDocument): Promise<Shown> {
    const { sql, shown } = this.#baseline.read;
    const id = document.id ?? `${this.#nameOf.get(push) ?? ""}-${document.index}`;
    return shown(this.#world.sqlite.rows(sql, push.collection, id)[0]);
  }

  recorded(): number {
    return 1;
  }

  async #post(by: Invocation, { request, url }: Call): Promise<Answer> {
    const collection = url.searchParams.get("collection") ?? "default";
    const type = request.headers.get("content-type") ?? "";
    const push = await this.#baseline.push(this.#env(by), collection, type, request.body as ReadableStream<Uint8Array>);
    return { status: 202, retryAfter: null, body: { push } };
  }

  #deliver(queue: SimulatedQueue, batch: readonly QueuedMessage[]): void {
    const acknowledged = new Set<string>();
    const again = new Set<string>();
    const messages = batch.map(({ id, body }): BaselineMessage => ({
      body: String(body),
      // The first call counts, as in production.
      ack: () => void (again.has(id) || acknowledged.add(id)),
      retry: () => void (acknowledged.has(id) || again.add(id)),
    }));
    this.#world.invoke(
      "consumer",
      async (by) => {
        try {
          await this.#baseline.deliver(this.#env(by), messages);
        } catch (error) {
          this.#world.trace.add(by.name, "throws", String(error));
          return acknowledged;
        }
        return new Set(batch.flatMap(({ id }) => (again.has(id) ? [] : [id])));
      },
      (settled) => {
        const acks = settled === null ? null : new Map(Array.from(settled, (id) => [id, { kind: "ack" }] as const));
        queue.settle(batch, acks);
      },
    );
  }

  #env(by: Invocation): BaselineEnv {
    const world = this.#world;
    const ai = world.ai.bindingFor(by);
    return {
      DB: world.d1(by),
      QUEUE: {
        sendBatch: (messages) =>
          this.#queue.send(
            by,
            messages.map(({ body }) => body),
          ),
      },
      AI: {
        run: async (model, inputs, options) =>
          plainAnswer(
            "query" in inputs
              ? await runDirectly(world, by, model, inputs)
              : await ai.run(model, inputs as Record<string, unknown>, options),
          ),
      },
      now: by.now,
      uuid: () => Array.from(world.random.bytes(16), (byte) => byte.toString(16).padStart(2, "0")).join(""),
      log: (line) => world.trace.add(by.name, `logs ${line}`),
    };
  }

  #openBatches(): number {
    return this.#world.sqlite.rows("SELECT 1 FROM batches WHERE status = 'processing' LIMIT 1").length;
  }

  #state(): string {
    return JSON.stringify(this.#world.sqlite.rows("SELECT status, count(*) AS count FROM requests GROUP BY status"));
  }
}
