import { readConfiguration } from "@sluice/local/configuration";
import type { DeliveredMessage, MessageDecision } from "@sluice/pipeline/message/delivery.ts";
import type { Timeline } from "@sluice/simulation/src/world/timeline.ts";

/** How a queue delivers, according to its consumer's configuration. Times in milliseconds. */
export interface QueueSettings {
  readonly name: string;
  readonly batchSize: number;
  readonly batchTimeout: number;
  readonly concurrency: number;
  readonly retryDelay: number;
}

export type Decisions = ReadonlyMap<string, MessageDecision>;

/** Consumes a delivery. `null`: it failed, and every message is delivered again. */
type Consume = (name: string, messages: readonly DeliveredMessage[]) => Promise<Decisions | null>;

/** A Queue without faults. It delivers when the delivery is full, or when the first message has waited long enough. */
export class VirtualQueue {
  readonly #timeline: Timeline;
  readonly #settings: QueueSettings;
  readonly #consume: Consume;
  readonly #waiting: (DeliveredMessage & { readonly since: number })[] = [];
  #running = 0;
  #sent = 0;

  constructor(timeline: Timeline, settings: QueueSettings, consume: Consume) {
    this.#timeline = timeline;
    this.#settings = settings;
    this.#consume = consume;
  }

  take(bodies: readonly string[]): void {
    for (const body of bodies) {
      this.#sent += 1;
      this.#enqueue({ id: `${this.#settings.name}-${this.#sent}`, body, attempts: 1 });
    }
  }

  #enqueue(message: DeliveredMessage): void {
    this.#waiting.push({ ...message, since: this.#timeline.now });
    // Messages that are sent together may be delivered together.
    this.#timeline.after(0, () => this.#deliver());
    this.#timeline.after(this.#settings.batchTimeout, () => this.#deliver());
  }

  #deliver(): void {
    const { batchSize, batchTimeout, concurrency, name } = this.#settings;
    while (this.#running < concurrency) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      if (this.#waiting.length < batchSize && this.#timeline.now < first.since + batchTimeout) return;
      const batch = this.#waiting.splice(0, batchSize);
      this.#running += 1;
      this.#timeline.wake();
      void this.#consume(name, batch).then((decisions) => {
        this.#running -= 1;
        for (const message of batch) this.#settle(message, decisions?.get(message.id));
        this.#timeline.after(0, () => this.#deliver());
      });
    }
  }

  #settle({ id, body, attempts }: DeliveredMessage, decision: MessageDecision | undefined): void {
    if (decision?.kind === "ack") return;
    const { delaySeconds } = decision ?? {};
    const delay = delaySeconds === undefined ? this.#settings.retryDelay : delaySeconds * 1_000;
    this.#timeline.after(delay, () => this.#enqueue({ id, body, attempts: attempts + 1 }));
  }
}

/** The delivery settings of a queue in a Worker's deployed configuration. */
export function queueSettings(worker: "consumer" | "poller", name: string): QueueSettings {
  const found = readConfiguration(worker).queues?.consumers?.find(({ queue }) => queue === name);
  if (found === undefined) throw new Error(`the configuration of the ${worker} has no queue ${name}`);
  return {
    name,
    batchSize: found.max_batch_size ?? 10,
    batchTimeout: (found.max_batch_timeout ?? 5) * 1_000,
    concurrency: found.max_concurrency ?? 10,
    retryDelay: (found.retry_delay ?? 0) * 1_000,
  };
}
