import { readConfiguration } from "@sluice/local/configuration";
import type { Timeline } from "@sluice/simulation/src/world/timeline.ts";

/** How a queue delivers, as the consumer's configuration has it. */
export interface QueueSettings {
  readonly name: string;
  readonly batchSize: number;
  /** Milliseconds. */
  readonly batchTimeout: number;
  readonly concurrency: number;
}

export interface QueuedMessage {
  readonly id: string;
  readonly body: string;
}

/** A Queue without faults: a delivery leaves when it is full, or when its first message has waited long enough. */
export class VirtualQueue {
  readonly #timeline: Timeline;
  readonly #settings: QueueSettings;
  readonly #consume: (name: string, messages: readonly QueuedMessage[]) => Promise<void>;
  #waiting: (QueuedMessage & { readonly since: number })[] = [];
  #running = 0;
  #sent = 0;

  constructor(
    timeline: Timeline,
    settings: QueueSettings,
    consume: (name: string, messages: readonly QueuedMessage[]) => Promise<void>,
  ) {
    this.#timeline = timeline;
    this.#settings = settings;
    this.#consume = consume;
  }

  take(bodies: readonly string[]): void {
    for (const body of bodies) {
      this.#sent += 1;
      this.#waiting.push({ id: `${this.#settings.name}-${this.#sent}`, body, since: this.#timeline.now });
    }
    this.#deliver();
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
      void this.#consume(name, batch).then(() => {
        this.#running -= 1;
        this.#timeline.after(0, () => this.#deliver());
      });
    }
  }
}

/** How a queue of the deployed configuration delivers. */
export function queueSettings(name: string): QueueSettings {
  const found = readConfiguration("consumer").queues?.consumers?.find(({ queue }) => queue === name);
  if (found === undefined) throw new Error(`the consumer's configuration has no queue ${name}`);
  return {
    name,
    batchSize: found.max_batch_size ?? 10,
    batchTimeout: (found.max_batch_timeout ?? 5) * 1_000,
    concurrency: found.max_concurrency ?? 10,
  };
}
