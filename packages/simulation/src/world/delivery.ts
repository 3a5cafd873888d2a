import type { MessageDecision } from "@sluice/pipeline/message/delivery.ts";
import type { QueuedMessage } from "./queued-message.ts";

/** A delivery to a Worker's `queue` handler. Messages without a decision are acknowledged when it returns. */
export class Delivery {
  readonly batch: MessageBatch;
  readonly #decisions = new Map<string, MessageDecision>();
  readonly #messages: readonly QueuedMessage[];

  constructor(queue: string, messages: readonly QueuedMessage[]) {
    this.#messages = messages;
    const decide = (id: string, decision: MessageDecision) => {
      // The first call counts, as on Cloudflare.
      if (!this.#decisions.has(id)) this.#decisions.set(id, decision);
    };
    const again = (options?: QueueRetryOptions): MessageDecision =>
      options?.delaySeconds === undefined ? { kind: "retry" } : { kind: "retry", delaySeconds: options.delaySeconds };
    this.batch = {
      queue,
      messages: messages.map(({ id, body, attempts }) => ({
        id,
        body,
        attempts: attempts + 1,
        timestamp: new Date(0),
        ack: () => decide(id, { kind: "ack" }),
        retry: (options?: QueueRetryOptions) => decide(id, again(options)),
      })),
      ackAll: () => messages.forEach(({ id }) => decide(id, { kind: "ack" })),
      retryAll: (options?: QueueRetryOptions) => messages.forEach(({ id }) => decide(id, again(options))),
    } as unknown as MessageBatch;
  }

  get decisions(): ReadonlyMap<string, MessageDecision> {
    return new Map(this.#messages.map(({ id }) => [id, this.#decisions.get(id) ?? { kind: "ack" }]));
  }
}
