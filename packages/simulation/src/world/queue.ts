import { parseMessage } from "@sluice/pipeline/message/message.ts";
import type { MessageDecision } from "@sluice/pipeline/message/delivery.ts";
import type { ConsumerConfiguration } from "./configuration.ts";
import type { Invocation } from "./invocation.ts";
import type { QueuedMessage } from "./queued-message.ts";
import type { Surroundings } from "./surroundings.ts";

interface QueueWorld extends Surroundings {
  /** Called for each message that a Queue accepted or lost. */
  onSent(body: unknown, isLost: boolean): void;
}

/** The target of messages that have used up their retries. */
interface DeadLetters {
  readonly deadLetterQueue: (settings: ConsumerConfiguration) => SimulatedQueue | null;
  readonly isDeadLetterQueue: (settings: ConsumerConfiguration) => boolean;
}

/** Starts a Worker with a delivery. The Worker calls `settle` when it ends. */
type Consume = (batch: readonly QueuedMessage[]) => void;

/** Longer than any message may live. A message that arrives later was already counted as lost. */
const BEYOND_LIFE_MS = 8.7 * 24 * 3_600_000;
/** Small, so that messages that fit into one configured delivery arrive in several. */
const MAX_BATCH = 8;

/**
 * A Queue that delivers at least once and in no order, with an acknowledgment per message, and a dead-letter queue
 * after the retries. It reports lost messages only to the world.
 */
export class SimulatedQueue {
  readonly settings: ConsumerConfiguration;
  readonly #world: QueueWorld;
  readonly #deadLetters: DeadLetters;
  readonly #consume: Consume;
  readonly #messages = new Map<string, QueuedMessage>();
  #running = 0;
  #named = 0;
  /** The time until which it refuses everything. */
  #downUntil = 0;

  constructor(world: QueueWorld, settings: ConsumerConfiguration, deadLetters: DeadLetters, consume: Consume) {
    this.#world = world;
    this.settings = settings;
    this.#deadLetters = deadLetters;
    this.#consume = consume;
  }

  get size(): number {
    return this.#messages.size;
  }

  /** Implements `sendBatch` of a Worker's binding. */
  send(by: Invocation, bodies: readonly unknown[]): Promise<void> {
    const { faults, ports, random, timeline } = this.#world;
    let passage: Parameters<typeof ports.call>[2] = { fault: null };
    const overloaded = new Error("Queue is overloaded. Please back off.");
    if (faults.strikes("queue_down_for_a_while")) this.#downUntil = timeline.now + random.spread(1_000, 120_000);
    if (faults.isOn && timeline.now < this.#downUntil) {
      passage = { fault: "queue_down_for_a_while", lost: true, error: overloaded };
    } else if (faults.strikes("queue_send_refused")) {
      passage = { fault: "queue_send_refused", lost: true, error: overloaded, back: random.pick([5, 57_000]) };
    } else if (faults.strikes("queue_send_error_after")) {
      passage = { fault: "queue_send_error_after", error: new Error("Network connection lost.") };
    }
    return ports.call(by, `send ${this.settings.queue} x${bodies.length}`, passage, () => {
      // After an error, part of the batch may still have been accepted.
      const taken = passage.error === undefined ? bodies : bodies.slice(0, random.int(1, bodies.length));
      for (const body of taken) {
        by.handedOver.add(body);
        this.take(body);
      }
    });
  }

  take(body: unknown): void {
    const { faults, timeline, random } = this.#world;
    if (faults.strikes("queue_loss")) return this.#lose(body);
    let delay = random.int(10, 3_000);
    if (faults.strikes("queue_delay_beyond_life")) delay = BEYOND_LIFE_MS;
    else if (faults.strikes("queue_delay")) delay = random.spread(5_000, 3 * 3_600_000);
    this.#enqueue(body, timeline.now + delay);
    this.#world.onSent(body, false);
  }

  /** Applies a handler's decisions; `null` if it died or its invocation failed. */
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
        this.#retry(message, (delay ?? this.settings.retry_delay) * 1_000);
      }
    }
    this.deliver();
  }

  /** Starts as many deliveries as may run concurrently. */
  deliver(): void {
    const { faults, timeline, random } = this.#world;
    // In load tests, each message becomes its own job.
    const maxBatch = faults.isLoad ? 1 : Math.min(MAX_BATCH, this.settings.max_batch_size);
    while (this.#running < this.settings.max_concurrency) {
      const ready = [...this.#messages.values()].filter(
        (message) => !message.inProgress && message.visibleAt <= timeline.now,
      );
      if (ready.length === 0) return;
      const batch = random.shuffled(ready).slice(0, random.int(1, maxBatch));
      for (const message of batch) message.inProgress = true;
      this.#running += 1;
      this.#consume(batch);
    }
  }

  #retry(message: QueuedMessage, delay: number): void {
    const { faults, timeline, random } = this.#world;
    const { queue, max_retries: maxRetries } = this.settings;
    message.inProgress = false;
    message.attempts += 1;
    const isLast = this.#deadLetters.isDeadLetterQueue(this.settings);
    if (message.attempts > maxRetries || (!isLast && faults.strikes("queue_dead_letter"))) {
      this.#messages.delete(message.id);
      faults.count("message_dead");
      const dead = this.#deadLetters.deadLetterQueue(this.settings);
      if (dead !== null) dead.#enqueue(message.body, timeline.now + random.int(100, 5_000), message.id);
      else if (carried(message.body) !== null)
        this.#world.fail(`${queue} dropped a part after ${maxRetries} retries: it has no dead-letter queue`);
      return;
    }
    message.visibleAt = timeline.now + delay;
    this.#announce(message.visibleAt);
  }

  #enqueue(body: unknown, visibleAt: number, id?: string): void {
    this.#named += 1;
    const message = {
      id: id ?? `${this.settings.queue}-${this.#named}`,
      body,
      attempts: 0,
      visibleAt,
      inProgress: false,
    };
    this.#messages.set(message.id, message);
    this.#announce(visibleAt);
  }

  #announce(visibleAt: number): void {
    const { random, timeline } = this.#world;
    timeline.at(visibleAt + random.int(0, this.settings.max_batch_timeout * 1_000), () => this.deliver());
  }

  #lose(body: unknown): void {
    this.#world.trace.add(this.settings.queue, "loses a message");
    this.#world.onSent(body, true);
  }
}

/** Reads which part a message carries. */
export function carried(
  body: unknown,
): { readonly submission: string; readonly part: number; readonly documents: number } | null {
  const read = parseMessage(body);
  if (!read.ok) return null;
  const { submission, part } = read.value;
  return { submission, part, documents: read.value.kind === "part" ? read.value.documents.length : 0 };
}
