import consumer from "@sluice/consumer/src/index.ts";
import { lanes, type Lane } from "@sluice/core";
import poller from "@sluice/poller/src/index.ts";
import { BodiesInWork } from "@sluice/producer/src/push/bodies-in-work.ts";
import { EventDelivery } from "../checks/event-rules.ts";
import type { ConsumerConfiguration, DeployedWorker } from "./configuration.ts";
import { Delivery } from "./delivery.ts";
import type { Invocation } from "./invocation.ts";
import { runIsolated } from "./isolate.ts";
import { SimulatedQueue } from "./queue.ts";
import type { QueuedMessage } from "./queued-message.ts";
import type { World } from "./world.ts";

/** The entry files of the Workers that queues deliver to. */
const ENTRIES = { consumer, poller };

/** The Workers, wired to queues, cron, D1 and Workers AI by their entry files and their wrangler.jsonc. */
export class Stack {
  /** The queues that the producer sends to. */
  readonly queues: Readonly<Record<Lane, SimulatedQueue>>;
  /** The producer's isolate. */
  readonly bodies = new BodiesInWork();
  readonly #all = new Map<string, SimulatedQueue>();
  readonly #world: World;
  #polling = 0;

  constructor(world: World) {
    this.#world = world;
    for (const worker of ["consumer", "poller"] as const) {
      for (const settings of world.configuration[worker].queues?.consumers ?? []) this.#addQueue(worker, settings);
    }
    world.events.queue = this.#all.get("sluice-events") ?? null;
    const [interactive, bulk] = lanes.map((lane) => this.#producedTo(lane.toUpperCase()));
    if (interactive === undefined || bulk === undefined) throw new Error("the producer lacks the queue of a lane");
    this.queues = { interactive, bulk };
  }

  get messages(): number {
    return [...this.#all.values()].reduce((sum, queue) => sum + queue.size, 0);
  }

  /** Returns the queue for messages that have used up their retries; `null` if there is none. */
  deadLetterQueue({ dead_letter_queue: name }: ConsumerConfiguration): SimulatedQueue | null {
    return name === undefined ? null : (this.#all.get(name) ?? null);
  }

  /** Whether it is the dead-letter queue of another queue. */
  isDeadLetterQueue({ queue }: ConsumerConfiguration): boolean {
    return [...this.#all.values()].some(({ settings }) => settings.dead_letter_queue === queue);
  }

  poll(): void {
    const world = this.#world;
    if (this.#polling > 0) world.faults.count("cron_overlapping");
    this.#polling += 1;
    const controller = { scheduledTime: world.timeline.now, cron: "* * * * *", noRetry: () => undefined };
    world.invoke(
      "poller",
      (by) => this.#isolated(by, () => poller.scheduled(controller, this.#environment("poller", by))),
      () => {
        this.#polling -= 1;
      },
    );
  }

  #addQueue(worker: keyof typeof ENTRIES, settings: ConsumerConfiguration): void {
    const queue = new SimulatedQueue(this.#world, settings, this, (batch) => this.#deliver(worker, queue, batch));
    this.#all.set(settings.queue, queue);
  }

  #producedTo(binding: string): SimulatedQueue | undefined {
    const producers = this.#world.configuration.producer.queues?.producers ?? [];
    return this.#all.get(producers.find((one) => one.binding === binding)?.queue ?? "");
  }

  #deliver(worker: keyof typeof ENTRIES, queue: SimulatedQueue, batch: readonly QueuedMessage[]): void {
    const world = this.#world;
    const delivery = new Delivery(queue.settings.queue, batch);
    const events = worker === "poller" ? new EventDelivery(batch, world.mirror.jobs) : null;
    const invocation = world.invoke(
      worker,
      async (by) => {
        by.events = events;
        for (const token of events?.chainTokens ?? []) by.chainTokens.add(token);
        await this.#isolated(by, () => ENTRIES[worker].queue(delivery.batch, this.#environment(worker, by)));
        return delivery.decisions;
      },
      (decisions) => {
        if (decisions !== null && events !== null) this.#judge(invocation, events, decisions);
        queue.settle(batch, decisions);
      },
    );
  }

  #judge(by: Invocation, events: EventDelivery, decisions: Delivery["decisions"]): void {
    const flaw = events.decisionFlaw(decisions);
    if (flaw !== null) this.#world.fail(`${by.name} ${flaw}`);
    if (events.hasPolled) this.#world.faults.count("polled_for_event");
  }

  #isolated<T>(by: Invocation, run: () => Promise<T>): Promise<T> {
    const { random } = this.#world;
    return runIsolated({ by, random, log: (line) => this.#world.onLog(line, by) }, run);
  }

  /** Builds a Worker's bindings and variables, under the names in its configuration. */
  #environment(worker: DeployedWorker, by: Invocation): never {
    const { vars, ai, d1_databases: databases, queues } = this.#world.configuration[worker];
    const environment: Record<string, unknown> = { ...vars };
    if (vars?.["MAX_DATABASE_BYTES"] !== undefined) environment["MAX_DATABASE_BYTES"] = String(this.#world.room.limit);
    if (worker === "poller") Object.assign(environment, this.#world.retention.variables);
    for (const { binding } of databases) environment[binding] = this.#world.d1(by);
    if (ai !== undefined) environment[ai.binding] = this.#world.ai.bindingFor(by);
    for (const { binding, queue } of queues?.producers ?? []) {
      const sendBatch = (messages: Iterable<{ body: unknown }>) =>
        this.#all.get(queue)?.send(
          by,
          Array.from(messages, ({ body }) => body),
        );
      environment[binding] = { sendBatch, send: (body: unknown) => sendBatch([{ body }]) };
    }
    return environment as never;
  }
}
