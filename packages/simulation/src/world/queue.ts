import { parseMessage } from "@sluice/core";
import type { MessageDecision } from "@sluice/dispatch";
import type { Invocation } from "./invocation.ts";
import type { World } from "./world.ts";

export interface QueuedMessage {
  readonly id: string;
  readonly body: unknown;
  attempts: number;
  visibleAt: number;
  underWay: boolean;
}

interface QueueSettings {
  readonly name: string;
  readonly maxRetries: number;
  /** Milliseconds. */
  readonly retryDelay: number;
  /** Milliseconds for which a delivery waits for more messages, at most. */
  readonly batchTimeout: number;
  readonly concurrency: number;
  readonly dead: SimulatedQueue | null;
}

/** Starts a consumer with a delivery; it calls `settle` in the end. */
export type Consume = (queue: SimulatedQueue, batch: readonly QueuedMessage[]) => void;

/** Longer than any message may live: what comes after this was counted as lost before. */
const BEYOND_LIFE = 8.7 * 24 * 3_600_000;
const MAX_BATCH = 8;

/**
 * A Queue: at least once, in no order, acknowledged message by message, to the dead-letter queue
 * after its retries. What it loses it tells the world, and nobody else.
 */
export class SimulatedQueue {
  readonly settings: QueueSettings;
  readonly #world: World;
  readonly #consume: Consume;
  readonly #messages = new Map<string, QueuedMessage>();
  #running = 0;
  #named = 0;

  constructor(world: World, settings: QueueSettings, consume: Consume) {
    this.#world = world;
    this.settings = settings;
    this.#consume = consume;
  }

  get size(): number {
    return this.#messages.size;
  }

  /** `sendBatch` as a Worker calls it. */
  send(by: Invocation, bodies: readonly unknown[]): Promise<void> {
    const { faults, ports, random } = this.#world;
    let passage: Parameters<typeof ports.call>[2] = { fault: null };
    const overloaded = new Error("Queue is overloaded. Please back off.");
    if (faults.strikes("queue_send_refused")) {
      passage = { fault: "queue_send_refused", lost: true, error: overloaded, back: random.pick([5, 57_000]) };
    } else if (faults.strikes("queue_send_error_after")) {
      passage = { fault: "queue_send_error_after", error: new Error("Network connection lost.") };
    }
    return ports.call(by, `send ${this.settings.name} x${bodies.length}`, passage, () => {
      // An error may hide that a part of the batch was taken in.
      const taken = passage.error === undefined ? bodies : bodies.slice(0, random.int(1, bodies.length));
      for (const body of taken) this.take(body);
    });
  }

  take(body: unknown): void {
    const { faults, timeline, random } = this.#world;
    if (faults.strikes("queue_loss")) return this.#lose(body);
    let delay = random.int(10, 3_000);
    if (faults.strikes("queue_delay_beyond_life")) delay = BEYOND_LIFE;
    else if (faults.strikes("queue_delay")) delay = random.spread(5_000, 3 * 3_600_000);
    this.#enqueue(body, timeline.now + delay);
    this.#world.onSent(body, false);
  }

  /** What a handler decided; `null`: it died, or its invocation failed. */
  settle(batch: readonly QueuedMessage[], decisions: ReadonlyMap<string, MessageDecision> | null): void {
    const { faults, timeline, random } = this.#world;
    this.#running -= 1;
    const isAcked = ({ id }: QueuedMessage) => decisions?.get(id)?.kind === "ack";
    const ignored = batch.some(isAcked) && faults.strikes("queue_acks_ignored");
    for (const message of batch) {
      const decision = decisions?.get(message.id);
      if (isAcked(message) && !ignored) {
        this.#messages.delete(message.id);
        if (faults.strikes("queue_redelivery"))
          this.#enqueue(message.body, timeline.now + random.spread(100, 7_200_000), message.id);
      } else {
        const delay = decision?.kind === "retry" ? decision.delaySeconds : undefined;
        this.#retry(message, delay === undefined ? this.settings.retryDelay : delay * 1_000);
      }
    }
    this.deliver();
  }

  /** Starts as many deliveries as may run at once. */
  deliver(): void {
    const { timeline, random } = this.#world;
    while (this.#running < this.settings.concurrency) {
      const ready = [...this.#messages.values()].filter(
        (message) => !message.underWay && message.visibleAt <= timeline.now,
      );
      if (ready.length === 0) return;
      const batch = random.shuffled(ready).slice(0, random.int(1, MAX_BATCH));
      for (const message of batch) message.underWay = true;
      this.#running += 1;
      this.#consume(this, batch);
    }
  }

  #retry(message: QueuedMessage, delay: number): void {
    const { faults, timeline, random } = this.#world;
    const { maxRetries, dead } = this.settings;
    message.underWay = false;
    message.attempts += 1;
    if (message.attempts > maxRetries || (dead !== null && faults.strikes("queue_dead_letter"))) {
      this.#messages.delete(message.id);
      faults.count("message_dead");
      if (dead === null) this.#lose(message.body);
      else dead.#enqueue(message.body, timeline.now + random.int(100, 5_000), message.id);
      return;
    }
    message.visibleAt = timeline.now + delay;
    this.#announce(message.visibleAt);
  }

  #enqueue(body: unknown, visibleAt: number, id?: string): void {
    this.#named += 1;
    const message = { id: id ?? `${this.settings.name}-${this.#named}`, body, attempts: 0, visibleAt, underWay: false };
    this.#messages.set(message.id, message);
    this.#announce(visibleAt);
  }

  #announce(visibleAt: number): void {
    const { random, timeline } = this.#world;
    timeline.at(visibleAt + random.int(0, this.settings.batchTimeout), () => this.deliver());
  }

  #lose(body: unknown): void {
    this.#world.trace.add(this.settings.name, "loses a message");
    this.#world.onSent(body, true);
  }
}

/** What a message says it carries. */
export function carried(
  body: unknown,
): { readonly submission: string; readonly part: number; readonly documents: number } | null {
  const read = parseMessage(body);
  if (!read.ok) return null;
  const { submission, part } = read.value;
  return { submission, part, documents: read.value.kind === "part" ? read.value.documents.length : 0 };
}
